"""The processes of a chat: their state, output, signals, input and notices."""

# Made of _async by generate.py.

from __future__ import annotations

import base64
import uuid
from typing import Any, Literal
from urllib.parse import quote

from ..types import Notice, Output, Process, ProcessDetails

Signal = Literal["interrupt", "terminate", "kill", "hangup", "quit", "user1", "user2"]


class Processes:
    """The part of a chat that concerns the processes that its calls started."""

    def processes(self, *, running: bool | None = None, limit: int | None = None) -> list[Process]:
        """Returns the processes: running, lingering, then ended ones, each newest first."""
        params = {"running": running, "limit": limit}
        processes: list[Process] = (self._json("GET", "/processes", params=params))["processes"]
        return processes

    def process(self, process: str) -> ProcessDetails:
        """Returns the state of a process."""
        details: ProcessDetails = self._json("GET", process_path(process))
        return details

    def output(self, process: str, since: int = 0, max: int | None = None) -> Output:
        """Returns output from a cursor on, `max` bytes at most."""
        params = {"since": since, "max": max}
        output: Output = self._json("GET", f"{process_path(process)}/output", params=params)
        return output

    def signal(self, process: str, signal: Signal, *, grace_ms: int | None = None) -> ProcessDetails:
        """Sends a signal to everything that the process started. If no answer comes, it may be sent again."""
        body = {"signal": signal, **({"grace_ms": grace_ms} if grace_ms is not None else {})}
        return self._post(f"{process_path(process)}/signal", body)  # type: ignore[no-any-return]

    def input(
        self,
        process: str,
        input: str | bytes | None = None,
        *,
        close: bool = False,
        size: tuple[int, int] | None = None,
        id: str | None = None,
    ) -> Any:
        """Writes to a process once, closes its input, or gives its terminal another size in rows and columns.

        With an `id` of your own, the same input is written once after a restart as well.
        """
        body: dict[str, Any] = {"id": id or str(uuid.uuid4()), "close": close}
        if isinstance(input, bytes):
            body["base64"] = base64.b64encode(input).decode()
        elif input is not None:
            body["text"] = input
        if size:
            body["size"] = {"rows": size[0], "columns": size[1]}
        return self._post(f"{process_path(process)}/input", body)

    def notify(self, process: str, pattern: str | None = None, since: int = 0) -> str:
        """Asks to be told once that the process has ended, or that its output matches a regular expression.

        Returns the id of the notice.
        """
        body = {"on": "exit"} if pattern is None else {"on": "output", "pattern": pattern, "since": since}
        id: str = (self._post(f"{process_path(process)}/notices", body))["id"]
        return id

    def notices(self) -> list[Notice]:
        """Returns the notices that the chat waits for, and those that it was told in the last day."""
        notices: list[Notice] = (self._json("GET", "/notices"))["notices"]
        return notices

    def forget(self, notice: str) -> None:
        """Forgets a notice."""
        self._json("DELETE", f"/notices/{quote(notice, safe='')}")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._json("POST", path, json=body)

    def _json(self, method: str, path: str, **request: Any) -> Any:
        raise NotImplementedError


def process_path(process: str) -> str:
    """Returns the path of a process below that of its chat."""
    return f"/processes/{quote(process, safe='')}"
