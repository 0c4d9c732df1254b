"""JSON Schemas (2020-12) of Python types."""

import dataclasses
import enum
import inspect
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union

from . import docstring

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", list: "array", dict: "object"}


@dataclass(frozen=True)
class Range:
    """Bounds of a number, for `Annotated[int, Range(1, 100)]`. Both are included; `None` is no bound."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Length:
    """Bounds of the length of a text, in characters, or of a list, in items. Both are included; `None` is no bound."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Pattern:
    """A regular expression that a text must contain, for `Annotated[str, Pattern("^[a-z]+$")]`."""

    text: str


class Unsupported(TypeError):
    """A type that has no schema."""


@dataclass(frozen=True)
class Within:
    """The classes that a type is a part of, and whether the schema is for a reply: a dataclass in a reply has all its fields."""

    classes: tuple = ()
    is_reply: bool = False


def of(hint, within: Within = Within()) -> dict:
    """Returns the schema of a type.

    Raises `Unsupported` for a type that JSON has no form of, and for a class that contains itself.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is inspect.Parameter.empty or hint is object:
        return {}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if origin is Annotated:
        return annotated(of(arguments[0], within), arguments[1:])
    if origin in (Union, types.UnionType):
        return union([of(one, within) for one in arguments])
    if origin is Literal:
        return choice(list(arguments))
    if origin in (list, set, frozenset, tuple) or hint in (tuple, set):
        return sequence(origin or hint, arguments, within)
    if origin is dict:
        if arguments[0] is not str:
            raise Unsupported("the keys of a dict must be str")
        return {"type": "object", "additionalProperties": of(arguments[1], within)}
    if origin in (typing.Required, typing.NotRequired):
        return of(arguments[0], within)
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return choice([one.value for one in hint])
    if is_record(hint):
        return record(hint, within)
    raise Unsupported(f"{getattr(hint, '__name__', hint)} has no JSON Schema")


def is_record(hint) -> bool:
    """Returns whether a type is a dataclass or a `TypedDict`."""
    return inspect.isclass(hint) and (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint))


def record(hint, within: Within) -> dict:
    """Returns the schema of a dataclass or a `TypedDict`."""
    if hint in within.classes:
        raise Unsupported(f"{hint.__name__} contains itself; use dict instead")
    hints = typing.get_type_hints(hint, include_extras=True)
    # The docstring that `dataclass` makes for a class without one is its signature.
    documented = hint.__doc__ if not (hint.__doc__ or "").startswith(f"{hint.__name__}(") else None
    description, texts = docstring.read(types.SimpleNamespace(__doc__=documented), list(hints))
    defaults = {}
    required = list(hints)
    if dataclasses.is_dataclass(hint):
        for field in dataclasses.fields(hint):
            if field.default is not dataclasses.MISSING:
                defaults[field.name] = field.default
            has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
            if has_default and not within.is_reply:
                required.remove(field.name)
    else:
        required = [name for name in hints if name in hint.__required_keys__]
    inner = dataclasses.replace(within, classes=(*within.classes, hint))
    return described(properties(hints, texts, defaults, required, inner), description)


def properties(hints: dict, texts: dict, defaults: dict, required: list[str], within: Within = Within()) -> dict:
    """Returns the schema of an object with these properties and no others."""
    fields = {}
    for name, hint in hints.items():
        try:
            field = of(hint, within)
        except Unsupported as error:
            raise Unsupported(f"{name}: {error}") from None
        if name in texts:
            field = {**field, "description": texts[name]}
        if defaults.get(name) is not None:
            field = {**field, "default": as_json(defaults[name])}
        elif name in defaults:
            # An argument that is None unless it is given need not be sent as null.
            field = without_null(field)
        fields[name] = field
    schema = {"type": "object", "properties": fields}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def without_null(schema: dict) -> dict:
    """Returns a schema without null, if other types are left."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        rest = [kind for kind in kinds if kind != "null"]
        schema = {**schema, "type": rest[0] if len(rest) == 1 else rest}
        return {**schema, "enum": [one for one in schema["enum"] if one is not None]} if "enum" in schema else schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [one for one in schema["anyOf"] if one != {"type": "null"}]}
    return schema


def as_json(value):
    """Returns a value as `json.dumps` takes it: dataclasses become dicts, sets become lists, enums their values."""
    if isinstance(value, enum.Enum):
        return as_json(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((as_json(one) for one in value), key=str)
    return [as_json(one) for one in value] if isinstance(value, (list, tuple)) else value


def described(schema: dict, text: str) -> dict:
    return {**schema, "description": text} if text else schema


def annotated(schema: dict, notes: tuple) -> dict:
    """Adds what stands in `Annotated` to a schema: a text is the description, a dict is more keywords."""
    schema = dict(schema)
    for note in notes:
        if isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, dict):
            schema.update(note)
        elif isinstance(note, Range):
            bound(schema, note, "minimum", "maximum")
        elif isinstance(note, Length):
            names = ("minItems", "maxItems") if schema.get("type") == "array" else ("minLength", "maxLength")
            bound(schema, note, *names)
        elif isinstance(note, Pattern):
            schema["pattern"] = note.text
    return schema


def bound(schema: dict, bounds, least: str, most: str):
    for name, value in ((least, bounds.least), (most, bounds.most)):
        if value is not None:
            schema[name] = value


def choice(values: list) -> dict:
    kinds = {PLAIN.get(type(value)) for value in values}
    schema = {"enum": values}
    return {"type": kinds.pop(), **schema} if len(kinds) == 1 and None not in kinds else schema


def union(schemas: list[dict]) -> dict:
    """Joins schemas: `int | None` becomes one schema with two types, as models read that best."""
    if {} in schemas:
        return {}
    null = {"type": "null"}
    others = [schema for schema in schemas if schema != null]
    if len(others) == 1 and others != schemas and isinstance(others[0].get("type"), str):
        joined = {**others[0], "type": [others[0]["type"], "null"]}
        if "enum" in joined:
            joined["enum"] = [*joined["enum"], None]
        return joined
    return {"anyOf": schemas}


def sequence(kind, arguments: tuple, within: Within) -> dict:
    schema: dict = {"type": "array"}
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        items = [of(one, within) for one in arguments]
        return {**schema, "prefixItems": items, "items": False, "minItems": len(items)}
    if arguments:
        schema["items"] = of(arguments[0], within)
    if kind in (set, frozenset):
        schema["uniqueItems"] = True
    return schema
