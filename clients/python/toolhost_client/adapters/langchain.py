"""The adapter for LangChain and LangGraph: `tools(chat)` for an agent or a `ToolNode`.

The id of a call is that of the message of the model. LangGraph gives the step as well: after a restart, its checkpointer
repeats the step with the same number, and each call runs once.
"""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException

from .._async.chat import AsyncChat
from .._sync.chat import Chat
from ..call import Call, Outcome
from ..types import Tool
from .common import pieces
from .frameworks import Tools, arun, call, run


class ToolhostTool(BaseTool):
    """A tool of Toolhost as one of LangChain."""

    chat: Any
    prefix: str = ""
    handle_tool_error: Any = True

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input, tool_call_id), {}

    def _run(self, arguments: dict[str, Any], id: str | None, config: RunnableConfig) -> Any:
        if isinstance(self.chat, AsyncChat):
            raise NotImplementedError("the tools of an AsyncChat are invoked with ainvoke")
        return content(run(self.chat, self._call(arguments, id, config)))

    async def _arun(self, arguments: dict[str, Any], id: str | None, config: RunnableConfig) -> Any:
        return content(await arun(self.chat, self._call(arguments, id, config)))

    def _call(self, arguments: dict[str, Any], id: str | None, config: RunnableConfig) -> Call:
        return call(self.name, arguments, id, self.prefix, (config.get("metadata") or {}).get("langgraph_step"))


def content(outcome: Outcome) -> Any:
    """Returns the content of a `ToolMessage`. Raises the exception that LangChain makes an error of."""
    if outcome.is_error:
        raise ToolException(outcome.text)
    found = pieces(outcome)
    if all(isinstance(piece, str) for piece in found):
        return "".join(str(piece) for piece in found)
    return [
        {"type": "text", "text": piece}
        if isinstance(piece, str)
        else {"type": "image_url", "image_url": {"url": piece.url}}
        for piece in found
    ]


def make(chat: Chat | AsyncChat, tool: Tool, prefix: str) -> ToolhostTool:
    """Returns a tool."""
    return ToolhostTool(
        name=tool["name"], description=tool["description"], args_schema=tool["input_schema"], chat=chat, prefix=prefix
    )


tools = Tools(make)
