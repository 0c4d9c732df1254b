"""Shell commands of the workspace. The plugin needs the grant `processes`.

A cursor is an absolute byte offset into the output of a process, which is its standard output and standard error merged in the
order in which they were written.
"""

from dataclasses import dataclass, field

from .errors import Failed
from .host import current

# The seconds that `run` leaves to the call for its reply.
FOR_REPLY = 2.0


@dataclass(frozen=True)
class Pipe:
    """A standard input that stays open: the plugin writes to it until it calls `close_input`. Use `PIPE`."""


PIPE = Pipe()


@dataclass(frozen=True)
class Terminal:
    """A terminal of this size, in which the plugin types. It is the standard input and the output of the command."""

    rows: int = 24
    columns: int = 80


@dataclass(frozen=True)
class State:
    """Where a process stands.

    `kind` is running, lingering (the shell has exited, and its children have not), exited or lost. An ended shell has a `code` or
    the name of a `signal`, and a `cause`: itself, signalled, output-limit, out-of-memory, shutdown or cancelled. `text` says what is
    known of a lost process.
    """

    kind: str
    code: int | None = None
    signal: str | None = None
    cause: str | None = None
    text: str = ""


@dataclass(frozen=True)
class Waited:
    """What a wait saw. `wake` is ended, matched, output, timed-out, clamped or cancelled; `match_end` is set if it is matched."""

    wake: str
    state: State
    total: int
    match_end: int | None = None


@dataclass(frozen=True)
class Chunk:
    """A stretch of output from the cursor `offset` on. `end`: nothing will follow it."""

    offset: int
    data: bytes
    total: int
    end: bool


@dataclass(frozen=True)
class Screen:
    """What a terminal shows: its rows as text, without the spaces at their ends and the empty rows at the end.

    `cursor` has the row and the column of the cursor, both from 1, or is `None` if the cursor is hidden. `alternate`: the screen
    belongs to a program that uses all of it, such as an editor. `application_keys`: that program expects `ESC O A` instead of
    `ESC [ A` for the arrow keys.
    """

    text: str
    rows: int = 24
    columns: int = 80
    cursor: tuple[int, int] | None = None
    title: str = ""
    alternate: bool = False
    application_keys: bool = False


@dataclass(frozen=True)
class Snapshot:
    """State and bounded output: `head` has the first 32 KiB, and `tail` the last 32 KiB that are not in `head`.

    `survivors` has the id and command line of each process that outlives the shell, `denials` what the sandbox has likely denied,
    and `saved` how far the full copy of the output goes: none, complete, partial or failed. `takes_input`: the standard input is
    open for `write`. `screen` is `None` for a process without a terminal.
    """

    state: State
    total: int
    head: bytes
    tail: bytes = b""
    survivors: list[tuple[int, str]] = field(default_factory=list)
    denials: list[str] = field(default_factory=list)
    saved: str = "none"
    takes_input: bool = False
    screen: Screen | None = None

    @property
    def output(self) -> bytes:
        """The output; if it has more than 64 KiB, a line says how many bytes are left out."""
        gap = self.total - len(self.head) - len(self.tail)
        return self.head + (b"\n[%d bytes left out]\n" % gap if gap > 0 else b"") + self.tail

    @property
    def text(self) -> str:
        """The output as text, with U+FFFD for what is not UTF-8."""
        return self.output.decode(errors="replace")


@dataclass(frozen=True)
class Port:
    """A TCP port on which a process listens.

    `url` is the address at which a person opens what listens there, without a token, or `None` if the host shows none;
    `expires_at` the time from which on it leads nowhere, in seconds since 1970.
    """

    number: int
    url: str | None = None
    expires_at: int | None = None


@dataclass(frozen=True)
class Info:
    """One process in a list. Moments are milliseconds since 1970."""

    id: str
    command: str
    workdir: str
    background: bool
    state: State
    started_ms: int
    exited_ms: int | None
    last_output_ms: int | None
    total: int


def shell() -> str:
    """Returns the shell that runs commands: "bash" or "sh". Raises `HostError`."""
    return port().shell()


def start(
    command: str,
    *,
    workdir: str | None = None,
    env: dict[str, str] | None = None,
    stdin: bytes | str | Pipe | Terminal | None = None,
    background: bool = False,
    without: tuple[str, ...] = (),
):
    """Starts `bash -c command` or `sh -c command` (see `shell`), and returns a process that runs whether or not the plugin waits for it.

    `without` has what the command is to do without: "write", "network" or both. If the call is cancelled or fails, the host ends
    the process unless it is in the background. Pass values through `env` rather than as a part of the command.

    The command reads `stdin`: bytes or a text and then the end, the bytes that the plugin writes later (`PIPE`), or the keys that
    the plugin types in a terminal (`Terminal(rows=24, columns=80)`). Without `stdin`, the command reads nothing.

    The process has `id`, `wait(timeout, since=0, until=None, output=False)`, `info()`, `snapshot()`, `read(since, max)` and
    `signal(name, grace=None)`, with seconds for times. `write(data)` takes at most 1 MiB of bytes or text, `close_input()` ends the
    input, and `resize(rows, columns)` gives the terminal another size; each of these three returns the state. In a terminal a line
    ends with `\\r`, control characters act (`\\x03` is Ctrl-C), and `close_input` types Ctrl-D. `notify(pattern=None, since=0)` has the
    chat told, after the call as well, when the process ends, or when its output from a cursor on matches a regular expression; it
    returns the id of the notice. `listening(timeout)` returns the `Port`s on which the command listens, ascending, and waits for the
    first one for this time, but no longer than the command runs. The process is a context manager; its end lets go of the handle, and
    ends nothing.

    Raises `HostError`.
    """
    given = encoded(stdin) if isinstance(stdin, str) else stdin
    return port().start(command, workdir, list((env or {}).items()), background, given, tuple(without))


def open(id: str):
    """Returns the process of this chat that has this id. Raises `HostError` with the reason `not-found` if there is none."""
    return port().open(id)


def list_processes(*, running_only: bool = False, max: int = 100) -> tuple[list[Info], int]:
    """Returns at most `max` processes of this chat, and how many there are in all. The running ones come first."""
    return port().list_processes(running_only, max)


def wait_any(processes: list, timeout: float):
    """Waits until one of these processes, of which there are at most 64, has ended. Returns why it returned (ended, timed-out, clamped or
    cancelled), and the process that has ended or `None`. Raises `HostError`."""
    wake, place = port().wait_any([process.id for process in processes], timeout)
    return wake, None if place is None else processes[place]


def run(command: str, *, timeout: float | None = None, **options) -> Snapshot:
    """Runs a command to its end, and returns its state and its output. The options are those of `start`.

    Give it no `stdin=PIPE`: nothing is written to that pipe, and a command that reads it runs until the timeout.

    `timeout` is in seconds; `None`: until shortly before the call's own end. Raises `Failed` after that time, or if the call is
    cancelled, and then has the command ended; raises `HostError` if it cannot be started.
    """
    left = current.remaining_ms() / 1000
    most = left - min(FOR_REPLY, left / 2)
    timeout = most if timeout is None else min(timeout, most)
    with start(command, **options) as process:
        while True:
            waited = process.wait(timeout - (left - current.remaining_ms() / 1000))
            if waited.wake == "ended":
                return process.snapshot()
            if waited.wake != "clamped":
                process.signal("terminate")
                why = "the call was cancelled" if waited.wake == "cancelled" else f"it took more than {timeout:g} s"
                raise Failed(f"the command was ended: {why}")


def encoded(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data


# At the end, since the bindings use the types above.
port = current.load("processes")
