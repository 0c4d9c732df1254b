"""Tools: functions with a name, a description and schemas."""

import inspect
import json
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from . import arguments, docstring, reply, schema, values
from .errors import UnknownTool

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
MAX_NAME = 31

# The tools of this plugin, by name, in the order in which they were defined.
TOOLS: dict[str, "Tool"] = {}

# Types of a reply that promise nothing about its structured part.
UNPROMISED = (inspect.Signature.empty, None, type(None), str, dict, list, reply.Reply, typing.Any)


@dataclass(frozen=True)
class Example:
    """A call that shows a tool at work. `is_error` says that the reply is expected to report an error."""

    name: str
    arguments: dict
    is_error: bool = False


@dataclass(frozen=True)
class Tool:
    """A tool as a model sees it, and the function that runs its calls. `max_duration` is in seconds."""

    name: str
    description: str
    function: Callable
    input_schema: dict
    output_schema: dict | None = None
    title: str | None = None
    read_only: bool = False
    non_destructive: bool = False
    idempotent: bool = False
    closed_world: bool = False
    max_duration: float | None = None
    examples: list[Example] = field(default_factory=list)
    resources: list[dict] = field(default_factory=list)
    hints: dict = field(default_factory=dict, repr=False)

    def call(self, text: str) -> reply.Reply:
        """Runs a call with the text of a JSON object. Raises what the function raises, and `InvalidArguments`."""
        given = arguments.parse(text, self.input_schema)
        return reply.of(self.function(**{name: values.read(value, self.hints[name]) for name, value in given.items()}))


def tool(
    function: Callable | None = None,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    non_destructive: bool = False,
    idempotent: bool = False,
    closed_world: bool = False,
    max_duration: float | timedelta | None = None,
    examples: list[Example | dict] = (),
    resources: list[dict] = (),
    output_schema: dict | None = None,
):
    """Makes a tool of a function: `@tool` or `@tool(read_only=True)`. The function itself stays as it is.

    Type hints give the schema of the arguments, and the docstring the description. `max_duration` is in seconds. Raises
    `ValueError` or `TypeError` for a tool that the host would refuse.
    """
    if function is None:
        options = {key: value for key, value in locals().items() if key != "function"}
        return lambda function: tool(function, **options)
    name = name or function.__name__
    check_name(name)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"the tool {name} is an async function, and nothing would run it: make it a plain one, without await")
    hints, input_schema, documented = describe(function, name)
    if not (description or documented):
        raise ValueError(f"the tool {name} has no docstring; say there, for the model, what it does")
    if isinstance(max_duration, timedelta):
        max_duration = max_duration.total_seconds()
    TOOLS[name] = Tool(
        name=name,
        title=title,
        description=description or documented,
        function=function,
        input_schema=input_schema,
        output_schema=output_schema or of_reply(function),
        read_only=read_only,
        non_destructive=non_destructive or read_only,
        idempotent=idempotent,
        closed_world=closed_world,
        max_duration=max_duration,
        examples=[example if isinstance(example, Example) else named(example) for example in examples],
        resources=list(resources),
        hints=hints,
    )
    return function


def check_name(name: str):
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ValueError(f'"{name}" is no name of a tool: it must match {NAME.pattern} and have at most {MAX_NAME} bytes')
    if name in TOOLS:
        raise ValueError(f'two tools have the name "{name}"')


def describe(function: Callable, name: str) -> tuple[dict, dict, str]:
    """Returns the types of the arguments, their schema, and the description of the tool."""
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"the tool {name} has the parameter {parameter}: name each argument, so that the model sees it")
    typed = typing.get_type_hints(function, include_extras=True)
    hints = {key: typed.get(key, typing.Any) for key in parameters}
    description, texts = docstring.read(function, list(parameters))
    given = {key: one.default for key, one in parameters.items() if one.default is not inspect.Parameter.empty}
    required = [key for key in parameters if key not in given]
    try:
        return hints, schema.properties(hints, texts, given, required), description
    except schema.Unsupported as error:
        raise TypeError(f"the tool {name}: {error}") from None


def of_reply(function: Callable) -> dict | None:
    """Returns the schema of the structured part of a reply, if the type of the function's result promises one."""
    result = typing.get_type_hints(function, include_extras=True).get("return")
    if result in UNPROMISED:
        return None
    try:
        return schema.of(result, schema.Within(is_reply=True))
    except schema.Unsupported as error:
        raise TypeError(f"the tool {function.__name__}: its result: {error}") from None


def named(arguments: dict) -> Example:
    return Example(json.dumps(arguments, ensure_ascii=False), arguments)


def find(name: str) -> Tool:
    """Returns the tool of this name. Raises `UnknownTool`."""
    if name not in TOOLS:
        raise UnknownTool(name)
    return TOOLS[name]
