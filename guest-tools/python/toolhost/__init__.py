"""Writes plugins for Toolhost: a tool is a function with type hints and a docstring.

    from toolhost import tool

    @tool(read_only=True)
    def word_count(text: str) -> dict:
        \"\"\"Counts the words of a text.

        text: The text.
        \"\"\"
        return {"words": len(text.split())}
"""

from .errors import Denied, Failed, HostError, InvalidArguments, ToolError, Unavailable
from .reply import Reply
from .schema import Length, Pattern, Range
from .tool import Example, Tool, tool

__all__ = [
    "Denied",
    "Example",
    "Failed",
    "HostError",
    "InvalidArguments",
    "Length",
    "Pattern",
    "Range",
    "Reply",
    "Tool",
    "ToolError",
    "Unavailable",
    "tool",
]
