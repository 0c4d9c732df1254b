"""What the component exports: the tools of the plugin, and their calls."""

import json

from componentize_py_types import Err
from wit_world.exports import tools as wit

from . import failure, log
from .errors import ToolError
from .reply import Part, Reply
from .tool import TOOLS, Tool, find
from .values import well_formed

ERRORS = {
    "unknown-tool": wit.ToolError_UnknownTool,
    "invalid-arguments": wit.ToolError_InvalidArguments,
    "denied": wit.ToolError_Denied,
    "unavailable": wit.ToolError_Unavailable,
    "failed": wit.ToolError_Failed,
}


class Tools:
    """The export `tools` of the component."""

    def list_tools(self) -> list[wit.Tool]:
        return [definition(tool) for tool in TOOLS.values()]

    def call_tool(self, call: wit.Call) -> wit.Reply:
        try:
            return written(find(call.tool).call(call.arguments))
        except ToolError as error:
            raise Err(ERRORS[error.kind](well_formed(error.text))) from None
        except MemoryError:
            # The host says which limit was reached.
            raise
        except (Exception, SystemExit) as error:
            if isinstance(error, Err) and isinstance(error.value, tuple(ERRORS.values())):
                raise
            for line in failure.lines(error):
                log.error(well_formed(line))
            raise Err(wit.ToolError_Failed(well_formed(failure.summary(error)))) from None


def definition(tool: Tool) -> wit.Tool:
    """Returns a tool as the contract has it."""
    hints = wit.Hints(0)
    for name in ("READ_ONLY", "NON_DESTRUCTIVE", "IDEMPOTENT", "CLOSED_WORLD"):
        if getattr(tool, name.lower()):
            hints |= wit.Hints[name]
    examples = [wit.Example(one.name, to_text(one.arguments), one.is_error) for one in tool.examples]
    return wit.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=to_text(tool.input_schema),
        output_schema=None if tool.output_schema is None else to_text(tool.output_schema),
        hints=hints,
        max_duration_ms=None if tool.max_duration is None else round(tool.max_duration * 1000),
        examples=examples,
        extra=[("resources", to_text(tool.resources))] if tool.resources else [],
    )


def to_text(value) -> str:
    return json.dumps(value, ensure_ascii=False)


def written(reply: Reply) -> wit.Reply:
    """Returns a reply as the contract has it."""
    return wit.Reply([content(part) for part in reply.parts], reply.is_error, list(reply.extra))


def content(part: Part):
    match part.kind:
        case "text":
            return wit.Content_Text(well_formed(part.text))
        case "json":
            return wit.Content_Json(well_formed(part.text))
        case "image":
            return wit.Content_Image(wit.Blob(part.media_type, part.data))
        case "audio":
            return wit.Content_Audio(wit.Blob(part.media_type, part.data))
        case _:
            return wit.Content_Document(wit.Document(part.uri, part.media_type, part.data))
