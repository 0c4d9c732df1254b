"""The files of a chat: uploads, downloads, lists and archives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import httpx2

from ..errors import Refused
from ..types import FileEntry, FileList
from .parallel import pieces

if TYPE_CHECKING:
    from .chat import AsyncChat

Archive = Literal["tar", "tar.gz", "zip"]


class AsyncFiles:
    """The files in the workspace of a chat. A path is relative to the workspace, or absolute."""

    def __init__(self, chat: AsyncChat) -> None:
        self._chat = chat

    @asynccontextmanager
    async def get(self, path: str) -> AsyncIterator[httpx2.Response]:
        """Yields the answer with a file. Its `aiter_bytes()` are the content as a stream.

        A stream that breaks raises `httpx2.TransportError`.
        """
        async with self._chat._stream("GET", file_path(path)) as response:
            yield response

    @asynccontextmanager
    async def archive(self, path: str = "", format: Archive = "zip") -> AsyncIterator[httpx2.Response]:
        """Yields the answer with all that is in a directory, as a stream like that of `get`."""
        async with self._chat._stream("GET", file_path(path), params={"archive": format}) as response:
            yield response

    async def read(self, path: str) -> bytes:
        """Returns the content of a file."""
        async with self._chat._stream("GET", file_path(path), whole="") as response:
            return bytes(response.content)

    async def put(
        self,
        path: str,
        content: bytes | Path | Callable[[], AsyncIterator[bytes]],
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> str:
        """Writes a whole file, and returns its ETag. The content is bytes, a local file, or a function that begins a stream.

        With a condition, a repeat after a lost answer may find the file that it wrote itself. That is a success.
        """
        headers = given({"if-match": if_match, "if-none-match": if_none_match})
        if isinstance(content, bytes):
            body: Callable[[], object] = partial(bytes, content)
        else:
            body = partial(pieces, content) if isinstance(content, Path) else content
        try:
            async with self._chat._stream("PUT", file_path(path), headers=headers, body=body) as response:
                return str(response.headers["etag"])
        except Refused as refused:
            if refused.code == "file_changed" and refused.after_lost_answer:
                async with self.get(path) as response:
                    if await digest(response.aiter_bytes()) == await digest(body()):
                        return str(response.headers["etag"])
            raise

    async def list(self, path: str = "") -> AsyncIterator[FileEntry]:
        """Yields the entries of a directory in the order of their names."""
        after = None
        while True:
            params = {"after": after, "limit": 1000}
            page: FileList = await self._chat._json("GET", file_path(path), params=params)
            for entry in page["entries"]:
                yield entry
            if (after := page.get("next")) is None:
                return

    async def delete(self, path: str, *, recursive: bool = False, if_match: str | None = None) -> None:
        """Removes a file, a link, an empty directory, or with `recursive` any directory."""
        params, headers = {"recursive": recursive or None}, given({"if-match": if_match})
        try:
            await self._chat._json("DELETE", file_path(path), params=params, headers=headers)
        except Refused as refused:
            # The attempt whose answer was lost may have removed it.
            if not (refused.after_lost_answer and await self._is_gone(path)):
                raise

    async def _is_gone(self, path: str) -> bool:
        try:
            async with self.get(path):
                return False
        except Refused as refused:
            return refused.code == "unknown_file"


async def digest(content: Any) -> bytes:
    """Returns a digest of bytes, or of a stream of them."""
    found = sha256()
    if isinstance(content, bytes):
        found.update(content)
    else:
        async for piece in content:
            found.update(piece)
    return found.digest()


def file_path(path: str) -> str:
    """Returns the path of a file below that of its chat."""
    root = "%2F" if path.startswith("/") else ""
    return f"/files/{root}{quote(path.lstrip('/'))}".rstrip("/")


def given(headers: dict[str, str | None]) -> dict[str, str]:
    """Returns the headers that have a value."""
    return {name: value for name, value in headers.items() if value is not None}
