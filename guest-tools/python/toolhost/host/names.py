"""Names of the contract from those of the bindings for Python."""

import re

from ..errors import HostError


def of_enum(value) -> str:
    """Returns `timed-out` for `Wake.TIMED_OUT`."""
    return value.name.lower().replace("_", "-")


def of_case(value) -> str:
    """Returns `not-found` for a value of `Error_NotFound`."""
    name = type(value).__name__.split("_", 1)[1].rstrip("_")
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def error(value, words: dict[str, str]) -> HostError:
    """Returns an error of the contract as the exception that a plugin sees. `words` has the texts of those without one."""
    reason = of_case(value)
    detail = getattr(value, "value", None)
    return HostError(reason, words[reason].format(detail) if reason in words else str(detail))
