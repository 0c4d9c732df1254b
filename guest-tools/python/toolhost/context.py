"""Facts about the running call."""

from .host import current


def chat() -> str:
    """Returns the chat that the call belongs to."""
    return current.chat()


def workspace_root() -> str:
    """Returns the absolute path of the workspace directory, as a command that runs there sees it."""
    return current.workspace_root()


def remaining() -> float:
    """Returns how many seconds are left until the host ends the call."""
    return current.remaining_ms() / 1000


def cancelled() -> bool:
    """Returns whether the caller has cancelled the call. Reply soon, with what there is: the host waits 2 seconds."""
    return current.cancelled()


def attribute(name: str) -> str | None:
    """Returns what the caller said about itself under this name, for example `locale`; `None` if it said nothing."""
    return current.attribute(name)
