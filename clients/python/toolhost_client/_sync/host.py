"""A Toolhost: its address, its tools, and how requests reach it."""

# Made of _async by generate.py.

from __future__ import annotations

import os
from collections.abc import Iterator, Callable, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from ..retries import Attempts, Home
from .chat import Chat
from .parallel import sleep


class Toolhost:
    """The client of a Toolhost, for all chats, tasks and threads of a program.

    `url` is `http://…`, `https://…` or `unix:/PATH`; it and the token are by default in `TOOLHOST_URL` and `TOOLHOST_TOKEN`.
    A request is given up with `Unanswered` after `patience` seconds of failures in a row, and after `deadline` seconds in all.
    Proxies of the environment are not used.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, *, patience: float = 300, deadline: float = 4000
    ) -> None:
        url = url or os.environ.get("TOOLHOST_URL", "http://127.0.0.1:7411")
        token = token or os.environ.get("TOOLHOST_TOKEN", "")
        socket = url.removeprefix("unix:") if url.startswith("unix:") else None
        self.url = "http://localhost" if socket else url.rstrip("/")
        self.patience, self.deadline = patience, deadline
        self._http = httpx2.Client(
            headers={"authorization": f"Bearer {token}"} if token else {},
            # The server can be lost while a call runs: after a minute without an answer, the request is repeated.
            timeout=httpx2.Timeout(60, connect=10, pool=None),
            transport=httpx2.HTTPTransport(
                uds=socket, limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100)
            ),
        )

    def __enter__(self) -> Toolhost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Calls that run go on."""
        self._http.close()

    def chat(self, id: str, *, workspace: str | None = None, attributes: Mapping[str, str] | None = None) -> Chat:
        """Returns a chat, of which each call has this workspace and these attributes. Sends nothing.

        The id is that of your conversation.
        """
        return Chat(self, id, workspace, attributes)

    def tools(self, format: str = "json", *, strict: bool = False, chat: str | None = None) -> Any:
        """Returns the tools in the format of a provider. docs/http.md has the list of formats."""
        params = {"format": format, **({"strict": "true"} if strict else {}), **({"chat": chat} if chat else {})}
        return (self._send("GET", "/v1/tools", Home(self.url), params=params)).json()

    def _send(self, method: str, path: str, home: Home, **request: Any) -> httpx2.Response:
        """Sends a request until there is an answer, and returns it if it is a success."""
        with self._stream(method, path, home, whole="application/json", **request) as response:
            return response

    @contextmanager
    def _stream(
        self,
        method: str,
        path: str,
        home: Home,
        *,
        whole: str | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        body: Callable[[], Any] | None = None,
    ) -> Iterator[httpx2.Response]:
        """Sends a request until there is an answer, and yields it before its body is read.

        With `whole`, the body is read, and an answer of another media type than those that begin so is none.
        """
        attempts = Attempts(f"{method} {path}", home, self.patience, self.deadline)
        while True:
            url = attempts.begin() + path
            try:
                content = body() if body else None
                request = self._http.build_request(
                    method, url, params=params, headers=headers, json=json, content=content
                )
                response = self._http.send(request, stream=True)
                try:
                    if whole is not None or not response.is_success:
                        response.read()
                    if is_answer(response, whole):
                        break
                    pause = attempts.answered(response.status_code, response.headers, response.content)
                finally:
                    if whole is not None or not response.is_success:
                        response.close()
            except httpx2.TransportError as error:
                pause = attempts.lost(error, sent=not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout))
            sleep(pause)
        try:
            yield response
        finally:
            response.close()


def is_answer(response: httpx2.Response, whole: str | None) -> bool:
    """Returns whether a response is a success, and no page of a proxy in the place of one."""
    kind = response.headers.get("content-type", "")
    return response.is_success and (whole is None or not response.content or kind.startswith(whole))
