"""Replies: an ordered list of parts, which are texts, JSON values, images, sounds and documents."""

import json
from dataclasses import dataclass

from . import schema
from .errors import Failed


@dataclass(frozen=True)
class Part:
    """One part of a reply. `kind` is its name in the contract: text, json, image, audio or document."""

    kind: str
    text: str = ""
    media_type: str | None = None
    data: bytes | None = None
    uri: str = ""


@dataclass(init=False)
class Reply:
    """A reply of several parts, or one that reports a failure. Its methods return the reply: `Reply("done").image(…)`."""

    parts: list[Part]
    is_error: bool
    extra: list[tuple[str, str]]

    def __init__(self, text: str | None = None, *, json=None, is_error: bool = False):
        self.parts, self.is_error, self.extra = [], is_error, []
        if text is not None:
            self.text(text)
        if json is not None:
            self.json(json)

    @classmethod
    def error(cls, text: str) -> "Reply":
        """Makes a reply that reports a failure which the model should read."""
        return cls(text, is_error=True)

    def text(self, text: str) -> "Reply":
        """Adds a text."""
        return self.add(Part("text", text))

    def json(self, value) -> "Reply":
        """Adds a JSON value: the structured result. Raises `Failed` if JSON cannot hold it."""
        return self.add(Part("json", to_json(value)))

    def image(self, data: bytes, media_type: str) -> "Reply":
        """Adds an image, for example of the type `image/png`."""
        return self.add(Part("image", media_type=media_type, data=data))

    def audio(self, data: bytes, media_type: str) -> "Reply":
        """Adds a sound, for example of the type `audio/wav`."""
        return self.add(Part("audio", media_type=media_type, data=data))

    def document(self, uri: str, data: bytes | None = None, media_type: str | None = None) -> "Reply":
        """Adds a document, or without `data` a pointer to one."""
        return self.add(Part("document", uri=uri, data=data, media_type=media_type))

    def add(self, part: Part) -> "Reply":
        self.parts.append(part)
        return self


def to_json(value) -> str:
    """Returns the JSON text of a value. Raises `Failed` if JSON cannot hold it."""
    try:
        return json.dumps(schema.as_json(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise Failed(f"the reply cannot be written as JSON: {error}") from error


def of(result) -> Reply:
    """Returns what a tool returned as a reply: a text is a text, `None` is a reply without parts, all else is JSON."""
    if isinstance(result, Reply):
        return result
    if result is None:
        return Reply()
    return Reply(result) if isinstance(result, str) else Reply(json=result)


def structured(reply: Reply):
    """Returns the JSON value of a reply; `None` if it has none."""
    return next((json.loads(part.text) for part in reply.parts if part.kind == "json"), None)


def texts(reply: Reply) -> str:
    """Returns all texts of a reply, joined."""
    return "".join(part.text for part in reply.parts if part.kind == "text")
