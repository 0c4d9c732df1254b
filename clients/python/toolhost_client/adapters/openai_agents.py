"""The adapter for OpenAI's Agents SDK: `Agent(…, tools=tools(chat))`.

The id of a call is that of the message of the model, which OpenAI makes unique; for other providers, pass a `prefix`. A run
that goes on from a stored `RunState` repeats its open calls with the same ids, and each runs once.
"""

from __future__ import annotations

from typing import Any

from agents import FunctionTool, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext

from .._async.chat import AsyncChat
from .._sync.chat import Chat
from ..call import Outcome
from ..types import Tool
from .common import pieces
from .frameworks import Tools, arun, call


def content(outcome: Outcome) -> Any:
    """Returns the output of a tool. The SDK has no field for an error."""
    found = pieces(outcome)
    if all(isinstance(piece, str) for piece in found):
        return "".join(str(piece) for piece in found)
    return [
        ToolOutputText(text=piece) if isinstance(piece, str) else ToolOutputImage(image_url=piece.url)
        for piece in found
    ]


def make(chat: Chat | AsyncChat, tool: Tool, prefix: str) -> FunctionTool:
    """Returns a tool."""

    async def invoke(ctx: ToolContext[Any], arguments: str) -> Any:
        return content(await arun(chat, call(tool["name"], arguments, ctx.tool_call_id, prefix)))

    return FunctionTool(
        name=tool["name"],
        description=tool["description"],
        params_json_schema=tool["input_schema"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


tools = Tools(make)
