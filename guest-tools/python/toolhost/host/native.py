"""A host for tests: it keeps in memory what a call sees and what the call told it."""

from dataclasses import dataclass, field

from ..errors import Denied


class Missing(AssertionError):
    """A test lacks a stand-in or an answer. No tool can take it for an error of the host."""


@dataclass
class Surroundings:
    """What a call sees of the host, and what it told the host.

    `now` is the virtual clock: the seconds since the call began, which pass only while a fake waits. `remaining` is how many
    seconds the call may take in all, and `cancelled_after` when the caller cancels it. `logged` has a line for each message,
    `warn: …`; `progress` has done, total and message of each report. `processes`, `files` and `http` are fakes of
    `toolhost.testing`.
    """

    chat: str = "test-chat"
    workspace_root: str = "/workspace"
    remaining: float = 600.0
    now: float = 0.0
    cancelled: bool = False
    cancelled_after: float | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    logged: list[str] = field(default_factory=list)
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    processes: object = None
    files: object = None
    http: object = None


surroundings = Surroundings()


def chat() -> str:
    return surroundings.chat


def workspace_root() -> str:
    return surroundings.workspace_root


def remaining_ms() -> int:
    return max(round((surroundings.remaining - surroundings.now) * 1000), 0)


def cancelled() -> bool:
    after = surroundings.cancelled_after
    return surroundings.cancelled or (after is not None and surroundings.now >= after)


def attribute(name: str) -> str | None:
    return surroundings.attributes.get(name)


def setting(key: str) -> str | None:
    return surroundings.settings.get(key)


def secret(name: str) -> str:
    if name not in surroundings.secrets:
        raise Denied(f'there is no secret "{name}"')
    return surroundings.secrets[name]


def log(level: str, message: str):
    surroundings.logged.append(f"{level}: {message}")


def report(done: float, total: float | None, message: str | None):
    surroundings.progress.append((done, total, message))


def load(name: str):
    """Returns a function that returns the test's stand-in for `processes`, `files` or `http`."""

    def fake():
        found = getattr(surroundings, name)
        if found is None:
            raise Missing(f"the test has no {name}: give some with `with toolhost.testing.host({name}=…):`")
        return found

    return fake
