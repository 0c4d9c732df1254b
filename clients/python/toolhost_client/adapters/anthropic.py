"""The adapter for Anthropic's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..call import Call, Outcome
from .common import Messages, Run, open_calls, pieces

format = "anthropic"


def turn(response: Any) -> list[Any]:
    """Returns the message to append for a `Message`."""
    return [{"role": "assistant", "content": [block.to_dict() for block in response.content]}]


def blocks(message: Any, kind: str) -> list[Any]:
    """Returns the blocks of one type in a message, whose content may be a text."""
    content = message["content"]
    return [] if isinstance(content, str) else [block for block in content if block["type"] == kind]


def calls_of(messages: Messages, turn: int | str | None = None) -> list[Call]:
    """Returns the calls of the last turn that have no result yet."""
    turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if not turns:
        return []
    calls = blocks(messages[turns[-1]], "tool_use")
    asked = [(call["id"], call["name"], call["input"]) for call in calls]
    later = [block for message in messages[turns[-1] :] for block in blocks(message, "tool_result")]
    return open_calls(turn, len(turns), asked, [block["tool_use_id"] for block in later])


def results(calls: Sequence[Call], outcomes: Sequence[Outcome]) -> list[Any]:
    """Returns the message with the outcomes of calls."""
    content = [
        {
            "type": "tool_result",
            "tool_use_id": call.model_id,
            "content": [block(piece) for piece in pieces(outcome)],
            "is_error": outcome.is_error,
        }
        for call, outcome in zip(calls, outcomes, strict=True)
    ]
    return [{"role": "user", "content": content}] if content else []


def block(piece: Any) -> dict[str, Any]:
    """Returns a text or an image as a block."""
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    return {"type": "image", "source": {"type": "base64", "media_type": piece.media_type, "data": piece.data}}


run = Run(calls_of, results)
