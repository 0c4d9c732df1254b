"""Common parts of the adapters of providers: open calls, the texts and images of outcomes, and running the calls.

Such an adapter consists of functions over the messages of its provider, which a chat server stores as JSON:

- `turn(response)` returns the messages to append for a response of the model.
- `calls_of(messages, turn=None)` returns the calls of the last turn that have no result yet.
- `results(calls, outcomes)` returns the messages to append for the outcomes of calls.
- `run(chat, messages, turn=None)` does all of that with the calls: it runs each once, and returns the messages to append.

A call is named by its position, as in `3.0`: the number of the turn, and the place in the turn. If a chat server shortens or
edits its history, it passes a `turn` that it counts itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, overload

from .._async.chat import AsyncChat
from .._sync.chat import Chat
from ..call import Call, Outcome
from ..errors import Refused
from ..reply import Image

# Messages are those of the SDK, in the form that it sends as JSON.
Messages = Sequence[Any]
# An image of another type makes the providers refuse the whole chat.
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Run:
    """The function `run` of an adapter: runs the open calls, each once, and returns the messages to append."""

    def __init__(
        self,
        calls_of: Callable[[Messages, int | str | None], list[Call]],
        results: Callable[[Sequence[Call], Sequence[Outcome]], list[Any]],
    ) -> None:
        self.calls_of, self.results = calls_of, results

    @overload
    def __call__(self, chat: Chat, messages: Messages, turn: int | str | None = None) -> list[Any]: ...

    @overload
    def __call__(self, chat: AsyncChat, messages: Messages, turn: int | str | None = None) -> Awaitable[list[Any]]: ...

    def __call__(
        self, chat: Chat | AsyncChat, messages: Messages, turn: int | str | None = None
    ) -> list[Any] | Awaitable[list[Any]]:
        calls = self.calls_of(messages, turn)
        if isinstance(chat, AsyncChat):
            return self._later(chat, calls)
        return self.results(calls, chat.run(calls))

    async def _later(self, chat: AsyncChat, calls: list[Call]) -> list[Any]:
        return self.results(calls, await chat.run(calls))


def open_calls(
    turn: int | str | None, turns: int, asked: Iterable[tuple[str, str, Any]], answered: Iterable[str]
) -> list[Call]:
    """Returns the calls without a result, of those that a turn asks for with an id, a tool and arguments.

    The turn is the last one of `turns`, unless the chat server counts its turns itself.

    Results with the same id belong to the calls with that id in their order.
    """
    left = Counter(answered)
    found = []
    for place, (id, tool, arguments) in enumerate(asked):
        if left[id]:
            left[id] -= 1
        else:
            found.append(Call(f"{turns if turn is None else turn}.{place}", tool, arguments, id))
    return found


def pieces(outcome: Outcome, images: Sequence[str] = IMAGES) -> list[str | Image]:
    """Returns the images of an outcome that are of these types, and the texts between them.

    An error has no images, because Anthropic refuses them there.
    """
    if isinstance(outcome, Refused):
        return [outcome.text]
    found: list[str | Image] = []
    for part in outcome.content:
        if isinstance(part, Image) and part.media_type in images and not outcome.is_error:
            found.append(part)
        elif found and isinstance(found[-1], str):
            found[-1] += "\n" + part.text
        else:
            found.append(part.text)
    # Providers refuse texts without a character.
    return [piece for piece in found if piece]


def text(outcome: Outcome) -> str:
    """Returns the texts of an outcome whose images go into another message."""
    return "\n".join(piece for piece in pieces(outcome) if isinstance(piece, str))


def plain(value: Any) -> Any:
    """Returns a message of OpenAI's SDK as JSON, without the parsed fields, which the API refuses."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in ("parsed", "parsed_arguments")}
    return value
