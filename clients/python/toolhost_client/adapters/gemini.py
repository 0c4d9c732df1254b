"""The adapter for Gemini's generateContent, with the SDK google-genai."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..call import Call, Outcome
from ..reply import Image
from .common import Messages, Run, open_calls, pieces

format = "gemini"
# The images that a functionResponse may have.
IMAGES = ("image/png", "image/jpeg", "image/webp")


def turn(response: Any) -> list[Any]:
    """Returns the content to append for a `GenerateContentResponse`, or for all of those of a stream."""
    responses = response if isinstance(response, Iterable) and not hasattr(response, "candidates") else [response]
    parts: list[dict[str, Any]] = []
    for one in responses:
        content = one.candidates[0].content if one.candidates else None
        for part in content.parts or [] if content else []:
            part = part.model_dump(mode="json", by_alias=True, exclude_none=True)
            # The pieces of a text become one, unless something else belongs to them.
            if parts and part.keys() == parts[-1].keys() == {"text"}:
                parts[-1]["text"] += part["text"]
            else:
                parts.append(part)
    return [{"role": "model", "parts": parts}] if parts else []


def calls_of(contents: Messages, turn: int | str | None = None) -> list[Call]:
    """Returns the calls of the last turn that have no result yet. A call without an id has the name of its tool as its id."""
    turns = [place for place, content in enumerate(contents) if content.get("role") == "model"]
    if not turns:
        return []
    calls = found(contents[turns[-1] :], "functionCall")
    asked = [(call.get("id") or call["name"], call["name"], call.get("args") or {}) for call in calls]
    answered = [result.get("id") or result["name"] for result in found(contents[turns[-1] :], "functionResponse")]
    return open_calls(turn, len(turns), asked, answered)


def found(contents: Messages, field: str) -> list[Any]:
    """Returns the parts of one kind."""
    return [part[field] for content in contents for part in content.get("parts") or [] if field in part]


def results(calls: Sequence[Call], outcomes: Sequence[Outcome]) -> list[Any]:
    """Returns the content with the outcomes of calls."""
    parts = [{"functionResponse": result(call, outcome)} for call, outcome in zip(calls, outcomes, strict=True)]
    return [{"role": "user", "parts": parts}] if parts else []


def result(call: Call, outcome: Outcome) -> dict[str, Any]:
    """Returns the response of a function, with images as parts of it."""
    seen = pieces(outcome, IMAGES)
    text = "\n".join(piece for piece in seen if isinstance(piece, str))
    images = [piece for piece in seen if isinstance(piece, Image)]
    parts = [{"inlineData": {"mimeType": image.media_type, "data": image.data}} for image in images]
    return {
        **({"id": call.model_id} if call.model_id != call.tool else {}),
        "name": call.tool,
        "response": {"error" if outcome.is_error else "output": text},
        **({"parts": parts} if parts else {}),
    }


run = Run(calls_of, results)
