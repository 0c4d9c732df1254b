"""Replies of calls, and the parts of their content."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Text:
    """A text for the model."""

    text: str


@dataclass(frozen=True)
class Json:
    """A JSON value, for the model as text."""

    json: Any

    @property
    def text(self) -> str:
        return json.dumps(self.json, ensure_ascii=False)


@dataclass(frozen=True)
class Image:
    """An image. `data` is base64."""

    media_type: str
    data: str

    @property
    def text(self) -> str:
        return f"[image, {self.media_type}]"

    @property
    def raw(self) -> bytes:
        return base64.b64decode(self.data)

    @property
    def url(self) -> str:
        """The image as a `data:` URL."""
        return f"data:{self.media_type};base64,{self.data}"


@dataclass(frozen=True)
class Audio:
    """A sound. `data` is base64."""

    media_type: str
    data: str

    @property
    def text(self) -> str:
        return f"[audio, {self.media_type}]"


@dataclass(frozen=True)
class Document:
    """A document that has an address, and perhaps its content."""

    uri: str
    media_type: str | None = None
    data: str | None = None

    @property
    def text(self) -> str:
        return f"[{self.uri}]"


Part = Text | Json | Image | Audio | Document
PARTS: dict[str, type[Part]] = {"text": Text, "json": Json, "image": Image, "audio": Audio, "document": Document}


@dataclass(frozen=True)
class CallError:
    """The reason why a call has no reply of its tool. The content has it as well."""

    kind: str
    message: str


@dataclass(frozen=True)
class Reply:
    """The reply of a call that has ended. docs/http.md explains the fields."""

    id: str
    tool: str
    state: Literal["finished", "failed", "cancelled", "unknown"]
    is_error: bool
    content: tuple[Part, ...]
    structured: Any = None
    error: CallError | None = None
    processes: tuple[str, ...] = ()
    duration_ms: int = 0
    queued_ms: int = 0
    guest_ms: int | None = None

    @property
    def text(self) -> str:
        """The text that a model reads. It names images and sounds."""
        return "\n".join(part.text for part in self.content)


@dataclass(frozen=True)
class Pending:
    """A call without a reply: one that runs, or a tombstone, which was cancelled before it arrived and never runs."""

    id: str
    state: Literal["running", "cancelled"]
    tool: str | None = None
    running_ms: int | None = None
    tombstone: bool = False


def read(kind: type[T], data: Mapping[str, Any], **replaced: Any) -> T:
    """Returns a dataclass with the fields that it knows of a JSON object. Unknown fields are ignored."""
    known = {field.name: data[field.name] for field in fields(kind) if field.name in data}  # type: ignore[arg-type]
    return kind(**{**known, **replaced})


def reply_of(data: Mapping[str, Any]) -> Reply:
    """Returns the reply that a JSON object describes. Content of an unknown type is ignored."""
    content = tuple(read(PARTS[part["type"]], part) for part in data["content"] if part["type"] in PARTS)
    error = read(CallError, data["error"]) if data.get("error") else None
    return read(Reply, data, content=content, error=error, processes=tuple(data.get("processes", ())))


def call_of(data: Mapping[str, Any]) -> Reply | Pending:
    """Returns the state of a call that a JSON object describes."""
    return reply_of(data) if "content" in data else read(Pending, data)
