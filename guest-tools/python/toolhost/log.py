"""Lines for the operator's log. They never reach the caller or the model."""

from .host import current


def debug(message: str):
    """Writes a line for the author of the plugin."""
    current.log("debug", message)


def info(message: str):
    """Writes a line about a notable event of normal work."""
    current.log("info", message)


def warn(message: str):
    """Writes a line about a problem in spite of which the call goes on."""
    current.log("warn", message)


def error(message: str):
    """Writes a line about a problem because of which the call fails."""
    current.log("error", message)
