"""Approval hooks: reads the question of a server, and makes the answer. docs/configuration.md tells when a hook is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .reply import read
from .types import Hints


@dataclass(frozen=True)
class Question:
    """A call that needs an approval. `call` and `chat` are `None` if the client named none."""

    principal: str
    plugin: str
    tool: str
    arguments: Any
    hints: Hints
    chat: str | None = None
    call: str | None = None


def question(body: bytes | str) -> Question:
    """Returns the question in the body of a POST, or on the standard input of a program."""
    return read(Question, json.loads(body))


def answer(approved: bool, reason: str | None = None) -> str:
    """Returns the JSON that approves the call, or refuses it with a reason for the model."""
    return json.dumps({"approved": approved, **({"reason": reason} if reason else {})})
