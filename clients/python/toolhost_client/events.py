"""Events of a chat, one type for each kind. docs/http.md explains the fields."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Literal

from .reply import read
from .types import Notice


@dataclass(frozen=True)
class CallChanged:
    """A call began or ended. `queued` after `running`: nothing ran, and a repeat runs the call."""

    id: str
    call: str
    tool: str
    state: Literal["queued", "running", "finished", "failed", "cancelled", "unknown"]
    is_error: bool | None = None


@dataclass(frozen=True)
class Progress:
    """A report of a plugin."""

    id: str
    call: str
    done: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True)
class ProcessStarted:
    """A process was started. `command` is cut at 512 bytes."""

    id: str
    process: str
    command: str
    workdir: str
    background: bool
    call: str | None = None


@dataclass(frozen=True)
class Output:
    """Output of a process from the cursor `offset` on."""

    id: str
    process: str
    offset: int
    length: int
    text: str | None = None
    base64: str | None = None

    @property
    def raw(self) -> bytes:
        return base64.b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


@dataclass(frozen=True)
class ProcessChanged:
    """The state of a process has changed. `exited` and `lost` end its events."""

    id: str
    process: str
    status: Literal["lingering", "exited", "lost"]
    total_bytes: int
    call: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    cause: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class NoticeTold:
    """Something happened of which the chat wanted to be told."""

    id: str
    notice: Notice


@dataclass(frozen=True)
class Gap:
    """These bytes of the output are no longer kept."""

    id: str
    process: str
    offset: int
    length: int


@dataclass(frozen=True)
class Reset:
    """Earlier events are lost to this reader: get the calls, processes and output that matter."""

    id: str
    reason: Literal["unknown_id", "expired", "behind", "cut_off"]


@dataclass(frozen=True)
class ChatEnded:
    """The chat was ended. This is its last event."""

    id: str
    chat: str


Event = CallChanged | Progress | ProcessStarted | Output | ProcessChanged | NoticeTold | Gap | Reset | ChatEnded
EVENTS: dict[str, type[Event]] = {
    "call": CallChanged,
    "progress": Progress,
    "process_started": ProcessStarted,
    "output": Output,
    "process": ProcessChanged,
    "gap": Gap,
    "reset": Reset,
    "chat_ended": ChatEnded,
}


def event_of(kind: str, id: str, data: str) -> Event | None:
    """Returns the event that the server sent, or `None` for a kind that this client does not know."""
    if kind == "notice":
        return NoticeTold(id, json.loads(data))
    return read(EVENTS[kind], json.loads(data), id=id) if kind in EVENTS else None
