"""The adapter for Pydantic AI: `Agent(…, tools=tools(chat))`.

The id of a call is the number of the model's turn in the history, and the id in the message of the model. An agent that is run
again with the stored `message_history` repeats its open calls with the same ids, and each runs once.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import BinaryContent, RunContext, ToolFailed
from pydantic_ai import Tool as AgentTool
from pydantic_ai.messages import ModelResponse

from .._async.chat import AsyncChat
from .._sync.chat import Chat
from ..call import Outcome
from ..types import Tool
from .common import pieces
from .frameworks import Tools, arun, call


def content(outcome: Outcome) -> Any:
    """Returns the result of a tool. Raises the exception that the agent makes an error of."""
    if outcome.is_error:
        raise ToolFailed(outcome.text)
    found = [
        piece if isinstance(piece, str) else BinaryContent(piece.raw, media_type=piece.media_type)
        for piece in pieces(outcome)
    ]
    return found[0] if len(found) == 1 else found


def make(chat: Chat | AsyncChat, tool: Tool, prefix: str) -> AgentTool[Any]:
    """Returns a tool."""

    async def run(ctx: RunContext[Any], **arguments: Any) -> Any:
        turn = sum(isinstance(message, ModelResponse) for message in ctx.messages)
        return content(await arun(chat, call(tool["name"], arguments, ctx.tool_call_id, prefix, turn)))

    made: AgentTool[Any] = AgentTool.from_schema(
        run, tool["name"], tool["description"], tool["input_schema"], takes_ctx=True
    )
    return made


tools = Tools(make)
