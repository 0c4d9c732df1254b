"""Tells the caller how far a call has come."""

from .host import current


def report(done: float, total: float | None = None, message: str | None = None):
    """Reports that `done` out of `total` units of work are done. `done` must not decrease; `message` is for a person."""
    current.report(float(done), None if total is None else float(total), message)
