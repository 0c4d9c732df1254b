"""The adapter for OpenAI's responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..call import Call, Outcome
from .common import Messages, Run, open_calls, pieces, plain

format = "openai-responses"


def turn(response: Any) -> list[Any]:
    """Returns the items to append for a `Response`."""
    return [plain(item.to_dict()) for item in response.output]


def is_said(item: Any) -> bool:
    """Returns whether the model made an item."""
    return item.get("role", "assistant") == "assistant" and not item.get("type", "").endswith("_output")


def calls_of(items: Messages, turn: int | str | None = None) -> list[Call]:
    """Returns the calls of the last turn that have no result yet. A turn is a row of items that the model made."""
    begins = [place for place, item in enumerate(items) if is_said(item) and not (place and is_said(items[place - 1]))]
    if not begins:
        return []
    last = items[begins[-1] :]
    asked = [(item["call_id"], item["name"], item["arguments"]) for item in last if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in last if item.get("type") == "function_call_output"]
    return open_calls(turn, len(begins), asked, answered)


def results(calls: Sequence[Call], outcomes: Sequence[Outcome]) -> list[Any]:
    """Returns the items with the outcomes of calls."""
    return [
        {"type": "function_call_output", "call_id": call.model_id, "output": output(outcome)}
        for call, outcome in zip(calls, outcomes, strict=True)
    ]


def output(outcome: Outcome) -> str | list[dict[str, str]]:
    """Returns an outcome as a text, or with its images as a list."""
    parts = pieces(outcome)
    if all(isinstance(part, str) for part in parts):
        return "".join(str(part) for part in parts)
    return [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "image_url": part.url}
        for part in parts
    ]


run = Run(calls_of, results)
