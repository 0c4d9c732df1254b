"""The JSON of the answers of Toolhost, besides replies and events."""

# Made of /openapi.json by generate.py.
from __future__ import annotations

from typing import Any, Literal, TypedDict

from typing_extensions import NotRequired


class CallPage(TypedDict):
    """A page of calls."""

    calls: list[ListedCall]
    next: NotRequired[str | None]


class ChatWorkspace(TypedDict):
    """The workspace that a chat belongs to."""

    workspace: str


class EndedChat(TypedDict):
    """The processes that were ended with a chat."""

    ended: list[EndedProcess]
    freed_from: NotRequired[str | None]


class EndedProcess(TypedDict):
    """A process that was live."""

    id: str
    command: str


class FileEntry(TypedDict):
    """An entry of a directory."""

    name: str
    kind: str
    size: NotRequired[int | None]
    modified_at_unix_ms: int


class FileLink(TypedDict):
    """A link to a file."""

    url: str
    expires_at_unix: int
    name: str
    size: int
    media_type: str


class FileList(TypedDict):
    """A page of the entries of a directory."""

    path: str
    entries: list[FileEntry]
    total: int
    next: NotRequired[int | None]


class Hints(TypedDict):
    """Promises of a tool about its effects. Effects that no promise excludes may happen, as in MCP's defaults."""

    read_only: bool
    non_destructive: bool
    idempotent: bool
    closed_world: bool


class JsonTools(TypedDict):
    """`format=json`."""

    tools: list[Tool]


class ListedCall(TypedDict):
    """A call in a list. The reply of the call is at `/v1/chats/{chat}/calls/{id}`."""

    chat: str
    id: str
    tool: str
    state: Literal["running", "finished", "failed", "cancelled", "unknown"]
    success: NotRequired[bool | None]
    token: NotRequired[str | None]
    began_at_unix_ms: int
    ended_at_unix_ms: NotRequired[int | None]
    duration_ms: NotRequired[int | None]
    queued_ms: NotRequired[int | None]
    guest_ms: NotRequired[int | None]
    arguments_bytes: NotRequired[int | None]
    reply_bytes: NotRequired[int | None]


class Notice(TypedDict):
    """A notice: something that happens to a process, of which its chat wants to be told."""

    id: str
    process: str
    call: NotRequired[str | None]
    command: str
    on: Literal["exit", "output"]
    pattern: NotRequired[str | None]
    since: NotRequired[int | None]
    asked_at_unix: int
    delivery: NotRequired[str | None]
    told: NotRequired[Told | None]


class NoticeList(TypedDict):
    """The notices of a chat."""

    notices: list[Notice]


class Output(TypedDict):
    """A stretch of the output of a process."""

    text: NotRequired[str | None]
    base64: NotRequired[str | None]
    process: str
    offset: int
    length: int
    total_bytes: int
    end: bool


class Port(TypedDict):
    """A port on which a command of a chat listens."""

    port: int
    process: str
    url: NotRequired[str | None]
    expires_at_unix: NotRequired[int | None]


class PortList(TypedDict):
    """The ports on which commands of a chat listen."""

    ports: list[Port]


class Process(TypedDict):
    """A process."""

    status: Literal["running", "lingering", "exited", "lost"]
    exit_code: NotRequired[int | None]
    signal: NotRequired[str | None]
    cause: NotRequired[str | None]
    reason: NotRequired[str | None]
    id: str
    chat: NotRequired[str | None]
    workspace: NotRequired[str | None]
    call: NotRequired[str | None]
    command: str
    workdir: str
    background: bool
    started_at_unix: int
    exited_at_unix: NotRequired[int | None]
    last_output_at_unix: NotRequired[int | None]
    total_bytes: int
    usage: NotRequired[Usage | None]
    last_line: NotRequired[str | None]


class ProcessDetails(TypedDict):
    """A process with its survivors and its saved output."""

    status: Literal["running", "lingering", "exited", "lost"]
    exit_code: NotRequired[int | None]
    signal: NotRequired[str | None]
    cause: NotRequired[str | None]
    reason: NotRequired[str | None]
    id: str
    chat: NotRequired[str | None]
    workspace: NotRequired[str | None]
    call: NotRequired[str | None]
    command: str
    workdir: str
    background: bool
    started_at_unix: int
    exited_at_unix: NotRequired[int | None]
    last_output_at_unix: NotRequired[int | None]
    total_bytes: int
    usage: NotRequired[Usage | None]
    last_line: NotRequired[str | None]
    survivors: list[Survivor]
    saved: dict[str, Any]
    takes_input: bool
    screen: NotRequired[Screen | None]


class ProcessList(TypedDict):
    """The processes of a chat."""

    processes: list[Process]
    total: int


class Resource(TypedDict):
    """Documents that a tool returns when it is called with `{"uri": …}`: one with a fixed address, or all whose address fits a pattern."""

    uri: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    media_type: NotRequired[str]


class Screen(TypedDict):
    """What a terminal shows."""

    rows: int
    columns: int
    text: str
    cursor_row: NotRequired[int | None]
    cursor_column: NotRequired[int | None]
    title: NotRequired[str]
    full: bool
    application_keys: bool


class Survivor(TypedDict):
    """A process that outlives a shell."""

    pid: int
    command: str


class Told(TypedDict):
    """The event of the process of a notice."""

    status: Literal["running", "lingering", "exited", "lost"]
    exit_code: NotRequired[int | None]
    signal: NotRequired[str | None]
    cause: NotRequired[str | None]
    reason: NotRequired[str | None]
    event: str
    at_unix: int
    total_bytes: int
    match_end: NotRequired[int | None]


class Tool(TypedDict):
    """A tool with all its properties."""

    name: str
    title: NotRequired[str]
    description: str
    input_schema: dict[str, Any]
    output_schema: NotRequired[Any]
    hints: Hints
    max_duration_ms: NotRequired[int]
    resources: NotRequired[list[Resource]]
    plugin: str


class Usage(TypedDict):
    """What everything that a process started uses."""

    cpu_ms: int
    memory_bytes: int
    processes: int
