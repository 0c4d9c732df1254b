"""Errors that a model reads. A tool raises them.

Any other exception is a mistake of the tool: the model reads its type, its message and its place, and the log gets the traceback.
"""


class ToolError(Exception):
    """The reason why a call gave no reply."""

    # As in the contract and in `cases.json`.
    kind = "failed"

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text


class InvalidArguments(ToolError):
    """The arguments are not what the tool takes."""

    kind = "invalid-arguments"


class Denied(ToolError):
    """The tool needs something that it was not granted."""

    kind = "denied"


class Unavailable(ToolError):
    """Something that the tool needs cannot be reached now. A later call may succeed."""

    kind = "unavailable"


class Failed(ToolError):
    """The tool failed in another way."""

    kind = "failed"


class UnknownTool(ToolError):
    """The plugin offers no tool of this name."""

    kind = "unknown-tool"


class HostError(ToolError):
    """An error of `processes`, `files` or `http`.

    `reason` is its name in the contract, for example `not-found`, or `http` for every error of HTTP but a denial. If a tool does
    not catch the error, the call fails with its text.
    """

    def __init__(self, reason: str, text: str):
        super().__init__(text)
        self.reason = reason
        # The place of the file among several that were to be written.
        self.index: int | None = None
        self.kind = reason if reason in ("denied", "unavailable") else "failed"
