"""A chat: its calls, events, links, ports and workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2

from ..call import Call, Outcome
from ..errors import Refused
from ..events import ChatEnded, Event, event_of
from ..reply import Pending, Reply, call_of, reply_of
from ..retries import Home
from ..types import CallPage, ChatWorkspace, EndedChat, FileLink, ListedCall, Port
from .files import AsyncFiles
from .parallel import gather, sleep
from .processes import AsyncProcesses

if TYPE_CHECKING:
    from .host import AsyncToolhost


class AsyncChat(AsyncProcesses):
    """The tools of Toolhost for one conversation."""

    def __init__(
        self,
        toolhost: AsyncToolhost,
        id: str,
        workspace: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        self.id, self.toolhost, self.workspace, self.attributes = id, toolhost, workspace, attributes
        self._path, self._home = f"/v1/chats/{quote(id, safe='')}", Home(toolhost.url)
        self.files = AsyncFiles(self)

    async def tools(self, format: str = "json", *, strict: bool = False) -> Any:
        """Returns the tools in the format of a provider, with those that were found in this chat."""
        return await self.toolhost.tools(format, strict=strict, chat=self.id)

    async def call(
        self,
        id: str,
        tool: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        workspace: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> Reply:
        """Runs a call once, however often it is repeated, and returns its reply.

        The id is unique in the chat, and the same again after a restart. The arguments may be the text that a model wrote.
        """
        fields = {"workspace": workspace or self.workspace, "attributes": attributes or self.attributes}
        fields |= {"tool": tool, "arguments": arguments}
        body = {name: value for name, value in fields.items() if value is not None}
        return reply_of(await self._json("PUT", call_path(id), json=body))

    async def run(self, calls: Sequence[Call]) -> list[Outcome]:
        """Runs the calls of a model at the same time, each once. A refusal is an outcome that the model can read.

        If the program is interrupted or this task is cancelled, cancels the calls. Raises `Unanswered`, and `Refused` for a
        token that is not valid: run the same calls again, once the cause is mended.
        """
        return await gather(
            [partial(self._outcome, call) for call in calls],
            partial(gather, [partial(self.cancel, call.id) for call in calls], nothing),
        )

    async def _outcome(self, call: Call) -> Outcome:
        try:
            return await self.call(call.id, call.tool, call.arguments)
        except Refused as refused:
            if refused.status == 401:
                raise
            # A call that was cancelled while it ran has a reply, with the output until then.
            found = await self.get(call.id) if refused.code == "cancelled" else None
            return found if isinstance(found, Reply) else refused

    async def cancel(self, id: str) -> Reply | None:
        """Ends a call with all that it started, and returns its reply, if it has one. A call that did not begin never runs."""
        data = await self._json("DELETE", call_path(id))
        return reply_of(data) if data else None

    async def get(self, id: str) -> Reply | Pending:
        """Returns the reply of a call, or how far it is."""
        return call_of(await self._json("GET", call_path(id)))

    async def calls(self, **filters: Any) -> AsyncIterator[ListedCall]:
        """Yields the calls of the chat, newest first. The filters are `state`, `success`, `tool`, `since`, `until`, `text`."""
        after = None
        while True:
            page: CallPage = await self._json("GET", "/calls", params={**filters, "after": after})
            for call in page["calls"]:
                yield call
            if not (after := page.get("next")):
                return

    async def events(
        self, *, after: str | None = None, call: str | None = None, output: bool = True
    ) -> AsyncIterator[Event]:
        """Yields the events of the chat until it ends. Connects again by itself, and goes on after the last event.

        The first iteration connects. `after` is the id of the last event that you have. After a `Reset`, earlier
        events are lost: get the calls, processes and output that matter.
        """
        pause = 1.0
        while True:
            headers = {"accept": "text/event-stream", **({"last-event-id": after} if after else {})}
            try:
                async with self._stream(
                    "GET", "/events", params={"call": call, "output": output}, headers=headers
                ) as response:
                    async for sent in httpx2.EventSource(response):
                        after, pause = sent.id or after, pause if sent.retry is None else sent.retry / 1000
                        event = event_of(sent.event, sent.id, sent.data)
                        if event:
                            yield event
                        if isinstance(event, ChatEnded):
                            return
            except httpx2.TransportError:
                pass
            await sleep(pause)

    async def link(self, path: str, lifetime_secs: int | None = None) -> FileLink:
        """Makes a link to a file, for a person without a token. A repeat makes another link."""
        body = {"path": path, **({"lifetime_secs": lifetime_secs} if lifetime_secs else {})}
        link: FileLink = await self._json("POST", "/links", json=body)
        return link

    async def ports(self, wait_seconds: int = 0) -> list[Port]:
        """Returns the ports on which commands listen. Waits so long for the first one."""
        ports: list[Port] = (await self._json("GET", "/ports", params={"wait_seconds": wait_seconds}))["ports"]
        return ports

    async def bind(self, workspace: str) -> ChatWorkspace:
        """Binds the chat to a workspace before its first call."""
        bound: ChatWorkspace = await self._json("PUT", "", json={"workspace": workspace})
        return bound

    async def end(self) -> EndedChat:
        """Ends the chat with its calls and background processes."""
        ended: EndedChat = await self._json("DELETE", "")
        return ended

    async def _json(self, method: str, path: str, **request: Any) -> Any:
        response = await self.toolhost._send(method, self._path + path, self._home, **given(request))
        return response.json() if response.content else None

    def _stream(self, method: str, path: str, **request: Any) -> Any:
        return self.toolhost._stream(method, self._path + path, self._home, **given(request))


def call_path(id: str) -> str:
    """Returns the path of a call below that of its chat."""
    return f"/calls/{quote(id, safe='')}"


def given(request: dict[str, Any]) -> dict[str, Any]:
    """Returns a request without the parameters that are `None`."""
    if params := request.get("params"):
        request["params"] = {name: value for name, value in params.items() if value is not None}
    return request


async def nothing() -> None:
    """Does nothing."""
