"""The client of Toolhost: runs the tool calls of a chat server, each once, whatever fails."""

from ._async.chat import AsyncChat
from ._async.host import AsyncToolhost
from ._sync.chat import Chat
from ._sync.host import Toolhost
from .call import Call, Outcome
from .errors import Refused, Unanswered
from .reply import Audio, Document, Image, Json, Pending, Reply, Text

__all__ = [
    "AsyncChat",
    "AsyncToolhost",
    "Audio",
    "Call",
    "Chat",
    "Document",
    "Image",
    "Json",
    "Outcome",
    "Pending",
    "Refused",
    "Reply",
    "Text",
    "Toolhost",
    "Unanswered",
]
