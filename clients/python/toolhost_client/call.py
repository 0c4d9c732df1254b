"""Calls as a model asks for them, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import Refused
from .reply import Reply


@dataclass(frozen=True)
class Call:
    """A call in the messages of a provider.

    `id` is that of Toolhost: the turn of the model, and the place in the turn, such as `3.0`. `model_id` is that of the
    provider, which need not be unique. The arguments may be the text that the model wrote.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] | str
    model_id: str


# The outcome of a call, for a model.
Outcome = Reply | Refused
