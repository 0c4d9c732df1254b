"""The adapter for OpenAI's chat completions, and for the servers that speak them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..call import Call, Outcome
from ..reply import Image
from .common import Messages, Run, open_calls, pieces, plain, text

format = "openai"


def turn(response: Any) -> list[Any]:
    """Returns the message to append for a `ChatCompletion`."""
    return [plain(response.choices[0].message.to_dict())]


def calls_of(messages: Messages, turn: int | str | None = None) -> list[Call]:
    """Returns the calls of the last turn that have no result yet."""
    turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if not turns:
        return []
    calls = messages[turns[-1]].get("tool_calls") or []
    asked = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]
    answered = [message["tool_call_id"] for message in messages[turns[-1] :] if message["role"] == "tool"]
    return open_calls(turn, len(turns), asked, answered)


def results(calls: Sequence[Call], outcomes: Sequence[Outcome]) -> list[Any]:
    """Returns the messages with the outcomes of calls. Images follow in a message of the user, because results have none."""
    messages: list[Any] = []
    images: list[Any] = []
    for call, outcome in zip(calls, outcomes, strict=True):
        messages.append({"role": "tool", "tool_call_id": call.model_id, "content": text(outcome)})
        found = [piece for piece in pieces(outcome) if isinstance(piece, Image)]
        if found:
            images.append({"type": "text", "text": f"Images in the result of {call.tool} ({call.model_id}):"})
            images += [{"type": "image_url", "image_url": {"url": image.url}} for image in found]
    return messages + ([{"role": "user", "content": images}] if images else [])


run = Run(calls_of, results)
