"""Processes, by the bindings of the contract."""

from componentize_py_types import Err
from wit_world.imports import processes as wit

from .. import processes as types
from . import names

WORDS = {"not-found": "process not found"}


def shell() -> str:
    return names.of_enum(asked(wit.current_shell))


def start(command, workdir, env, background, stdin, without) -> "Process":
    restrictions = wit.Restrictions(0)
    for name in without:
        restrictions |= wit.Restrictions[name.upper()]
    options = wit.StartOptions(command, workdir, env, background, input_of(stdin), restrictions)
    return Process(asked(lambda: wit.start(options)))


def open(id: str) -> "Process":
    return Process(asked(lambda: wit.open(id)))


def list_processes(running_only: bool, max: int):
    found, total = asked(lambda: wit.list_processes(running_only, max))
    return [info(one) for one in found], total


def wait_any(ids: list[str], timeout: float) -> tuple[str, int | None]:
    opened = [asked(lambda id=id: wit.open(id)) for id in ids]
    try:
        seen = asked(lambda: wit.wait_any(opened, max(round(timeout * 1000), 0)))
    finally:
        for handle in opened:
            handle.__exit__(None, None, None)
    return names.of_enum(seen.wake), seen.ended


class Process:
    """A process of the host."""

    def __init__(self, handle: wit.Process):
        self.handle = handle
        self.id = handle.id()

    def wait(self, timeout: float, since: int = 0, until: str | None = None, output: bool = False) -> types.Waited:
        options = wit.WaitOptions(max(round(timeout * 1000), 0), since, until, output)
        seen = asked(lambda: self.handle.wait(options))
        return types.Waited(names.of_enum(seen.wake), state(seen.state), seen.total, seen.match_end)

    def info(self) -> types.Info:
        return info(asked(self.handle.info))

    def snapshot(self) -> types.Snapshot:
        seen = asked(self.handle.snapshot)
        survivors = [(one.pid, one.command) for one in seen.survivors]
        return types.Snapshot(
            state(seen.state),
            seen.total,
            seen.head,
            seen.tail,
            survivors,
            seen.denials,
            names.of_case(seen.saved),
            seen.takes_input,
            None if seen.screen is None else screen(seen.screen),
        )

    def read(self, since: int = 0, max: int = 4 << 20) -> types.Chunk:
        seen = asked(lambda: self.handle.read(since, max))
        return types.Chunk(seen.offset, seen.data, seen.total, seen.end)

    def signal(self, name: str, grace: float | None = None) -> types.State:
        grace_ms = None if grace is None else round(grace * 1000)
        return state(asked(lambda: self.handle.signal(wit.Signal[name.upper()], grace_ms)))

    def write(self, data: bytes | str) -> types.State:
        return state(asked(lambda: self.handle.write(types.encoded(data))))

    def close_input(self) -> types.State:
        return state(asked(self.handle.close_input))

    def resize(self, rows: int, columns: int) -> types.State:
        return state(asked(lambda: self.handle.resize(wit.TerminalSize(rows, columns))))

    def notify(self, pattern: str | None = None, since: int = 0) -> str:
        on = wit.Trigger_Exit() if pattern is None else wit.Trigger_Output(wit.ExpectedOutput(pattern, since))
        return asked(lambda: self.handle.notify(on))

    def listening(self, timeout: float) -> list[types.Port]:
        found = asked(lambda: self.handle.listening(max(round(timeout * 1000), 0)))
        return [types.Port(port.number, port.url, port.expires_at) for port in found]

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exception):
        self.handle.__exit__(*exception)


def asked(ask):
    """Returns what the host replies. Raises its refusal as a `HostError`."""
    try:
        return ask()
    except Err as error:
        raise names.error(error.value, WORDS) from None


def input_of(stdin: bytes | types.Pipe | types.Terminal | None) -> wit.Stdin:
    if isinstance(stdin, types.Pipe):
        return wit.Stdin_Pipe()
    if isinstance(stdin, types.Terminal):
        return wit.Stdin_Terminal(wit.TerminalSize(stdin.rows, stdin.columns))
    return wit.Stdin_None_() if stdin is None else wit.Stdin_Bytes(stdin)


def screen(seen: wit.Screen) -> types.Screen:
    return types.Screen(
        seen.text, seen.size.rows, seen.size.columns, seen.cursor, seen.title, seen.alternate, seen.application_keys
    )


def state(seen) -> types.State:
    kind = names.of_case(seen)
    detail = getattr(seen, "value", None)
    if isinstance(detail, wit.ExitStatus):
        return types.State(kind, detail.code, detail.signal, names.of_enum(detail.cause))
    return types.State(kind, text=detail or "")


def info(seen: wit.Info) -> types.Info:
    return types.Info(
        seen.id,
        seen.command,
        seen.workdir,
        seen.background,
        state(seen.state),
        seen.started_ms,
        seen.exited_ms,
        seen.last_output_ms,
        seen.total,
    )
