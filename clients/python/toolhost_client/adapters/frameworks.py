"""Common parts of the adapters of frameworks for agents: the tools, the ids of calls, and their outcomes.

A framework runs the calls of its models by itself, and gives each the id of the provider. The id of the call in Toolhost is
made of that, so a call that the framework repeats after a restart, from its stored messages, gets the reply that was saved.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, overload

import anyio.to_thread

from .._async.chat import AsyncChat
from .._sync.chat import Chat
from ..call import Call, Outcome
from ..types import Tool

T = TypeVar("T")


class Tools:
    """The function `tools` of an adapter: returns the tools of a chat as those of the framework.

    `prefix` is put before the id of each call. Use one if the ids of your provider are not unique in a chat: it must be the same
    when the framework repeats a call.
    """

    def __init__(self, make: Callable[[Chat | AsyncChat, Tool, str], Any]) -> None:
        self.make = make

    @overload
    def __call__(self, chat: Chat, prefix: str = "") -> list[Any]: ...

    @overload
    def __call__(self, chat: AsyncChat, prefix: str = "") -> Awaitable[list[Any]]: ...

    def __call__(self, chat: Chat | AsyncChat, prefix: str = "") -> list[Any] | Awaitable[list[Any]]:
        if isinstance(chat, AsyncChat):
            return self._later(chat, prefix)
        return [self.make(chat, tool, prefix) for tool in chat.tools()["tools"]]

    async def _later(self, chat: AsyncChat, prefix: str) -> list[Any]:
        return [self.make(chat, tool, prefix) for tool in (await chat.tools())["tools"]]


def call(tool: str, arguments: Mapping[str, Any] | str, id: str | None, *before: object) -> Call:
    """Returns a call. Its id is that of the provider after the parts in `before` that are known."""
    known = [str(part) for part in before if part not in (None, "")]
    # A call id has visible characters without a slash.
    name = re.sub("[^!-.0-~]", "_", ".".join([*known, id or str(uuid.uuid4())]))
    return Call(name[-256:], tool, arguments, id or name)


def run(chat: Chat, call: Call) -> Outcome:
    """Runs a call in this thread."""
    return chat.run([call])[0]


async def arun(chat: Chat | AsyncChat, call: Call) -> Outcome:
    """Runs a call, in another thread if the chat blocks."""
    if isinstance(chat, AsyncChat):
        return (await chat.run([call]))[0]
    return await anyio.to_thread.run_sync(run, chat, call)
