"""The adapter for Bedrock's Converse, with the SDK boto3.

Messages have bytes, as boto3 takes them. `stored` and `loaded` convert them to and from JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..call import Call, Outcome
from .common import Messages, Run, open_calls, pieces

format = "bedrock"


def turn(response: Any) -> list[Any]:
    """Returns the message to append for the answer of `converse`, or for all events of `converse_stream`."""
    if isinstance(response, Mapping):
        return [response["output"]["message"]]
    content: dict[int, dict[str, Any]] = {}
    for event in response:
        if "contentBlockStart" in event:
            begun = event["contentBlockStart"]
            content[begun["contentBlockIndex"]] = {kind: dict(value) for kind, value in begun["start"].items()}
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]
            add(content.setdefault(delta["contentBlockIndex"], {}), delta["delta"])
    for block in content.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"].get("input") or "{}")
    return [{"role": "assistant", "content": [content[index] for index in sorted(content)]}]


def add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Adds a piece of a stream to a block."""
    for key, value in delta.items():
        if key == "reasoningContent":
            reasoning = block.setdefault(key, {})
            redacted = {"redactedContent": value["redactedContent"]} if "redactedContent" in value else {}
            texts = {name: value[name] for name in ("text", "signature") if name in value}
            add(reasoning, redacted)
            if texts:
                add(reasoning.setdefault("reasoningText", {}), texts)
        elif isinstance(value, dict):
            add(block.setdefault(key, {}), value)
        elif key in block and isinstance(value, str | bytes):
            block[key] += value
        else:
            block[key] = value


def calls_of(messages: Messages, turn: int | str | None = None) -> list[Call]:
    """Returns the calls of the last turn that have no result yet."""
    turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if not turns:
        return []
    later = [block for message in messages[turns[-1] :] for block in message["content"]]
    calls = [block["toolUse"] for block in later if "toolUse" in block]
    asked = [(call["toolUseId"], call["name"], call["input"]) for call in calls]
    return open_calls(
        turn, len(turns), asked, [block["toolResult"]["toolUseId"] for block in later if "toolResult" in block]
    )


def results(calls: Sequence[Call], outcomes: Sequence[Outcome]) -> list[Any]:
    """Returns the message with the outcomes of calls."""
    content = [
        {
            "toolResult": {
                "toolUseId": call.model_id,
                "content": [block(piece) for piece in pieces(outcome)],
                "status": "error" if outcome.is_error else "success",
            }
        }
        for call, outcome in zip(calls, outcomes, strict=True)
    ]
    return [{"role": "user", "content": content}] if content else []


def block(piece: Any) -> dict[str, Any]:
    """Returns a text or an image as a block."""
    if isinstance(piece, str):
        return {"text": piece}
    return {"image": {"format": piece.media_type.removeprefix("image/"), "source": {"bytes": piece.raw}}}


def stored(messages: Messages) -> Any:
    """Returns messages as JSON."""
    return json.loads(json.dumps(messages, default=lambda value: {"$base64": base64.b64encode(value).decode()}))


def loaded(messages: Any) -> list[Any]:
    """Returns the messages that `stored` made JSON of."""

    def bytes_of(value: dict[str, Any]) -> Any:
        return base64.b64decode(value["$base64"]) if value.keys() == {"$base64"} else value

    return list(json.loads(json.dumps(messages), object_hook=bytes_of))


run = Run(calls_of, results)
