"""Events: their types, and the stream that goes on after a cut."""

from __future__ import annotations

import anyio
import pytest

from conftest import Answer, Answers, problem
from toolhost_client import AsyncToolhost, Refused, Toolhost
from toolhost_client.events import CallChanged, ChatEnded, Event, Gap, NoticeTold, Output, Progress, Reset

STREAM = "text/event-stream"
FIRST = b""": listening
retry: 1

event: call
id: a-1
data: {"call":"1.0","tool":"execute","state":"running","new":1}

event: of a later version
id: a-2
data: {}

event: output
id: a-3-5
data: {"process":"p","offset":0,"length":5,"text":"h\xc3\xa4llo"}

event: output
id: a-4
data: {"process":"p","offset":5,"length":1,"ba"""
SECOND = b""": listening

event: output
id: a-4
data: {"process":"p","offset":5,"length":1,"base64":"/w=="}

event: gap
id: a-5
data: {"process":"p","offset":6,"length":10}

event: progress
id: a-6
data: {"call":"1.0","done":0.5}

event: notice
id: a-7
data: {"id":"n","process":"p","command":"x","on":"exit","asked_at_unix":1}

"""
THIRD = b"""event: reset
id: b-0
data: {"reason":"unknown_id"}

event: chat_ended
id: b-1
data: {"chat":"c"}

"""
EXPECTED: list[Event] = [
    CallChanged("a-1", "1.0", "execute", "running"),
    Output("a-3-5", "p", 0, 5, text="hällo"),
    Output("a-4", "p", 5, 1, base64="/w=="),
    Gap("a-5", "p", 6, 10),
    Progress("a-6", "1.0", 0.5),
    NoticeTold("a-7", {"id": "n", "process": "p", "command": "x", "on": "exit", "asked_at_unix": 1}),
    Reset("b-0", "unknown_id"),
    ChatEnded("b-1", "c"),
]


def in_a_thread(url: str) -> list[Event]:
    with Toolhost(url, "token") as toolhost:
        return list(toolhost.chat("c").events(call="1.0", after="a-0"))


def in_a_task(url: str) -> list[Event]:
    async def read() -> list[Event]:
        async with AsyncToolhost(url, "token") as toolhost:
            return [event async for event in toolhost.chat("c").events(call="1.0", after="a-0")]

    return anyio.run(read)


@pytest.mark.parametrize("read", [in_a_thread, in_a_task])
def test_a_stream_goes_on_after_the_last_event(read, answers: Answers) -> None:  # type: ignore[no-untyped-def]
    answers.answers = [
        Answer(200, FIRST, kind=STREAM, cut=True),
        problem(503, "unreadable"),
        Answer(200, b"<h1>a proxy</h1>", kind="text/html"),
        Answer(200, SECOND, kind=STREAM),
        Answer(200, THIRD, kind=STREAM),
    ]
    found = read(answers.url)
    assert found == EXPECTED
    assert [request[2]["last-event-id"] for request in answers.requests] == ["a-0", "a-3-5", "a-3-5", "a-3-5", "a-7"]
    assert answers.requests[0][1] == "/v1/chats/c/events?call=1.0&output=true"
    assert [event.raw for event in found if isinstance(event, Output)] == ["hällo".encode(), b"\xff"]


def test_a_refused_stream_is_no_stream(answers: Answers) -> None:
    answers.answers = [problem(403, "foreign_chat")]
    with pytest.raises(Refused):
        in_a_thread(answers.url)
