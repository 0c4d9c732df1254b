"""A chat's processes, all of them scripted."""

from dataclasses import dataclass

from ..errors import HostError
from ..host import native
from ..processes import Info, Pipe, Port, State, Terminal, encoded
from .fake_process import FakeProcess

SIGNALS = {
    "interrupt": "SIGINT",
    "terminate": "SIGTERM",
    "kill": "SIGKILL",
    "hangup": "SIGHUP",
    "quit": "SIGQUIT",
    "user1": "SIGUSR1",
    "user2": "SIGUSR2",
}


@dataclass(frozen=True)
class Started:
    """A command that the plugin started, or tried to."""

    command: str
    workdir: str | None
    env: dict[str, str]
    background: bool
    stdin: bytes | Pipe | Terminal | None
    without: tuple[str, ...]


class FakeProcesses:
    """Stands in for the host's processes, follows a script, and remembers what it was asked for.

    `started` has the commands, and `signals` a process id and a name for each signal. `inputs` has what was done to the standard
    input of which process, also what failed: `("p1", "write", b"y\\n")`, `("p1", "close")` or `("p1", "resize", 40, 120)`. `notices` has
    a process id, a pattern or `None`, and a cursor for each notice that was asked for. `clamp` is the longest wait of the host in
    seconds, and `in_shell` the shell that runs the commands.
    """

    def __init__(self, clamp: float | None = None, in_shell: str = "bash"):
        self.clamp = clamp
        self.in_shell = in_shell
        self.to_start: list[FakeProcess | HostError] = []
        self.known: list[tuple[FakeProcess, Started]] = []
        self.started: list[Started] = []
        self.signals: list[tuple[str, str]] = []
        self.inputs: list[tuple] = []
        self.notices: list[tuple[str, str | None, int]] = []

    def starts(self, process: FakeProcess) -> "FakeProcesses":
        """Lets the next start give this process."""
        self.to_start.append(process)
        return self

    def fails_to_start(self, reason: str, text: str) -> "FakeProcesses":
        """Lets the next start fail, for example with the reason `workdir`."""
        self.to_start.append(HostError(reason, text))
        return self

    def has(self, process: FakeProcess, command: str) -> "FakeProcesses":
        """Adds a process that an earlier call started in the background."""
        self.known.append((process, Started(command, None, {}, True, None, ())))
        return self

    def shell(self) -> str:
        return self.in_shell

    def start(self, command, workdir, env, background, stdin, without) -> "Handle":
        options = Started(command, workdir, dict(env), background, stdin, without)
        self.started.append(options)
        if not self.to_start:
            raise AssertionError(f"the test has no process for the command {command!r}: give one with `starts`")
        next = self.to_start.pop(0)
        if isinstance(next, HostError):
            raise next
        next.began = native.surroundings.now
        next.reads(stdin)
        self.known.append((next, options))
        return Handle(self, next, options)

    def open(self, id: str) -> "Handle":
        for process, options in self.known:
            if process.id == id:
                return Handle(self, process, options)
        raise HostError("not-found", "process not found")

    def list_processes(self, running_only: bool, max: int) -> tuple[list[Info], int]:
        order = ("running", "lingering")
        found = [Handle(self, *one).info() for one in reversed(self.known)]
        found.sort(key=lambda info: order.index(info.state.kind) if info.state.kind in order else len(order))
        if running_only:
            found = [info for info in found if info.state.kind in order]
        return found[:max], len(found)

    def wait_any(self, ids: list[str], timeout: float) -> tuple[str, int | None]:
        handles = [self.open(id) for id in ids]
        began = native.surroundings.now
        seen = []
        for place, handle in enumerate(handles):
            native.surroundings.now = began
            wake = handle.wait(timeout).wake
            seen.append((native.surroundings.now, wake != "ended", place, wake))
        # The first end of all, on the clock of the test.
        at, _, place, wake = min(seen, default=(began + timeout, True, 0, "timed-out"))
        native.surroundings.now = at
        return wake, place if wake == "ended" else None


class Handle:
    """A handle to a process of the chat."""

    def __init__(self, chat: FakeProcesses, process: FakeProcess, options: Started):
        self.chat, self.process, self.options = chat, process, options
        self.id = process.id

    def wait(self, timeout: float, since: int = 0, until: str | None = None, output: bool = False):
        return self.process.waits(timeout, since, until, output, self.chat.clamp)

    def snapshot(self):
        return self.process.snapshot()

    def read(self, since: int = 0, max: int = 4 << 20):
        return self.process.read(since, max)

    def info(self) -> Info:
        state, total = self.process.state(), len(self.process.output())
        has_exited = state.kind != "running"
        workdir = self.options.workdir or native.surroundings.workspace_root
        times = (1_000_000, 2_000_000 if has_exited else None, 1_500_000 if total else None)
        return Info(self.id, self.options.command, workdir, self.options.background, state, *times, total)

    def signal(self, name: str, grace: float | None = None) -> State:
        self.process.check()
        self.chat.signals.append((self.id, name))
        before = self.process.state()
        if before.kind in ("running", "lingering") and name in ("interrupt", "terminate", "kill", "hangup", "quit"):
            self.process.is_signalled(SIGNALS[name])
        return before

    def write(self, data: bytes | str) -> State:
        self.chat.inputs.append((self.id, "write", encoded(data)))
        return self.process.writes()

    def close_input(self) -> State:
        self.chat.inputs.append((self.id, "close"))
        return self.process.closes_input()

    def resize(self, rows: int, columns: int) -> State:
        self.chat.inputs.append((self.id, "resize", rows, columns))
        return self.process.resizes(rows, columns)

    def notify(self, pattern: str | None = None, since: int = 0) -> str:
        self.process.check()
        self.chat.notices.append((self.id, pattern, since))
        return f"notice_{len(self.chat.notices)}"

    def listening(self, timeout: float) -> list[Port]:
        self.process.check()
        if not self.process.ports and timeout > 0:
            self.wait(timeout)
        return list(self.process.ports)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *exception):
        return None
