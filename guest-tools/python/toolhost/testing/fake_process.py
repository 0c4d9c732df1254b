"""The script of one fake process, on the virtual clock of the test."""

import re
from dataclasses import replace

from ..errors import HostError
from ..host import native
from ..processes import PIPE, Chunk, Pipe, Port, Screen, Snapshot, State, Terminal, Waited

# The bytes in each of the two windows of a snapshot.
WINDOW = 32 << 10


class FakeProcess:
    """A fake process, and the script of what happens to it.

    A script is read from left to right; `after` lets time pass until what follows. A wait moves the virtual clock to the moment at
    which it returns, so a test takes no time:

        FakeProcess().prints("compiling\\n").after(90).prints("done\\n").exits(0)
    """

    def __init__(self, id: str = "p1"):
        self.id = id
        self.events: list[tuple[float, bytes | Screen | State]] = []
        self.at = 0.0
        self.began = 0.0
        self.denials: list[str] = []
        self.survivors: list[tuple[int, str]] = []
        self.error: HostError | None = None
        self.input_error: HostError | None = None
        # The open standard input: `None` without one.
        self.input: Pipe | Terminal | None = None
        self.terminal: Terminal | None = None
        self.ports: list[Port] = []

    def after(self, seconds: float) -> "FakeProcess":
        """Lets time pass."""
        self.at += seconds
        return self

    def prints(self, output: str | bytes) -> "FakeProcess":
        """Prints this."""
        return self.then(output.encode() if isinstance(output, str) else output)

    def exits(self, code: int) -> "FakeProcess":
        """Exits with this code, and leaves nothing behind."""
        return self.then(State("exited", code, cause="itself"))

    def is_ended_by(self, signal: str, cause: str = "itself") -> "FakeProcess":
        """Is ended by a signal of this name, for example `SIGKILL`."""
        return self.then(State("exited", signal=signal, cause=cause))

    def lingers(self, code: int, *survivors: tuple[int, str]) -> "FakeProcess":
        """Exits with this code, while processes that it started live on."""
        self.survivors = list(survivors)
        return self.then(State("lingering", code, cause="itself"))

    def is_lost(self, text: str) -> "FakeProcess":
        """Is lost with the host that ran it."""
        return self.then(State("lost", text=text))

    def is_denied(self, *denials: str) -> "FakeProcess":
        """Runs into the sandbox, which has likely denied this."""
        self.denials = list(denials)
        return self

    def fails(self, reason: str, text: str) -> "FakeProcess":
        """Lets everything fail that is asked of the process."""
        self.error = HostError(reason, text)
        return self

    def listens(self, number: int, url: str | None = None, expires_at: int | None = None) -> "FakeProcess":
        """Listens on this port from its start on."""
        self.ports.append(Port(number, url, expires_at))
        return self

    def shows(self, screen: Screen) -> "FakeProcess":
        """Shows this in its terminal, unless the plugin starts the process without one. The screen gets the terminal's size."""
        self.reads(Terminal(screen.rows, screen.columns))
        return self.then(screen)

    def takes_input(self) -> "FakeProcess":
        """Has an open standard input, unless the plugin starts the process without one: for a process of `FakeProcesses.has`."""
        self.reads(PIPE)
        return self

    def fails_to_take_input(self, reason: str, text: str) -> "FakeProcess":
        """Lets everything fail that is done to the standard input: `write`, `close_input` and `resize`."""
        self.input_error = HostError(reason, text)
        return self

    def then(self, event: bytes | Screen | State) -> "FakeProcess":
        self.events.append((self.at, event))
        return self

    def is_signalled(self, signal: str):
        """Ends the process now, unless it has ended."""
        now = native.surroundings.now - self.began
        self.events = [(at, event) for at, event in self.events if at <= now]
        self.events.append((now, State("exited", signal=signal, cause="signalled")))

    def reads(self, stdin: bytes | Pipe | Terminal | None):
        """Begins with this standard input."""
        self.input = stdin if isinstance(stdin, (Pipe, Terminal)) else None
        self.terminal = stdin if isinstance(stdin, Terminal) else None

    def writes(self) -> State:
        """Returns the state after an input. Raises `HostError` if the standard input is not open."""
        self.check()
        if self.input_error is not None:
            raise self.input_error
        if self.state().kind in ("exited", "lost"):
            raise HostError("invalid", "it has ended")
        if self.input is None:
            raise HostError("invalid", "its standard input is not open: start the process with PIPE or a Terminal")
        return self.state()

    def closes_input(self) -> State:
        state = self.writes()
        # In a terminal this only types Ctrl-D.
        self.input = self.terminal
        return state

    def resizes(self, rows: int, columns: int) -> State:
        state = self.writes()
        if self.terminal is None:
            raise HostError("invalid", "it has no terminal")
        self.reads(Terminal(rows, columns))
        return state

    def screen(self) -> Screen | None:
        if self.terminal is None:
            return None
        shown = ([Screen("")] + [event for event in self.past() if isinstance(event, Screen)])[-1]
        return replace(shown, rows=self.terminal.rows, columns=self.terminal.columns)

    def state(self) -> State:
        return ([State("running")] + [event for event in self.past() if isinstance(event, State)])[-1]

    def output(self) -> bytes:
        return b"".join(event for event in self.past() if isinstance(event, bytes))

    def past(self) -> list:
        """Returns what has happened until now."""
        now = native.surroundings.now - self.began
        return [event for at, event in self.events if at <= now]

    def waits(self, timeout: float, since: int, until: str | None, output: bool, clamp: float | None) -> Waited:
        self.check()
        now = native.surroundings.now
        end = now + (timeout if clamp is None else min(timeout, clamp))
        cancelled = native.surroundings.cancelled_after
        moments = sorted({now, *(at + self.began for at, _ in self.events), *([] if cancelled is None else [cancelled])})
        for moment in moments:
            if now <= moment <= end:
                native.surroundings.now = moment
                wake, match_end = self.wake(since, until, output)
                if wake is not None:
                    return Waited(wake, self.state(), len(self.output()), match_end)
        native.surroundings.now = end
        wake = "timed-out" if clamp is None or timeout <= clamp else "clamped"
        return Waited(wake, self.state(), len(self.output()))

    def wake(self, since: int, until: str | None, output: bool) -> tuple[str | None, int | None]:
        """Returns why a wait returns now, and where its match ends."""
        written = self.output()
        if until is not None:
            found = re.compile(until.encode(), re.MULTILINE).search(written, since)
            if found:
                return "matched", found.end()
        if output and len(written) > since:
            return "output", None
        if self.state().kind != "running":
            return "ended", None
        return ("cancelled" if native.cancelled() else None), None

    def snapshot(self) -> Snapshot:
        self.check()
        written = self.output()
        tail = written[max(WINDOW, len(written) - WINDOW) :]
        saved = "complete" if len(written) > WINDOW else "none"
        state = self.state()
        survivors = self.survivors if state.kind == "lingering" else []
        is_open = self.input is not None and state.kind in ("running", "lingering")
        head = written[:WINDOW]
        return Snapshot(state, len(written), head, tail, survivors, self.denials, saved, is_open, self.screen())

    def read(self, since: int, max: int) -> Chunk:
        self.check()
        written = self.output()
        data = written[since : since + max]
        end = self.state().kind != "running" and since + len(data) >= len(written)
        return Chunk(min(since, len(written)), data, len(written), end)

    def check(self):
        if self.error is not None:
            raise self.error
