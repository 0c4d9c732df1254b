"""Retries: by the rules alone, and against a server that fails."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial

import anyio
import pytest

from conftest import Answer, Answers, problem, reply
from toolhost_client import AsyncToolhost, Call, Refused, Reply, Toolhost, Unanswered
from toolhost_client._sync.parallel import gather, sleep
from toolhost_client.retries import Attempts, Home, retry_after


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def attempts(clock: Clock, **limits: float) -> Attempts:
    return Attempts("PUT /x", Home("http://a"), limits.get("patience", 60), limits.get("deadline", 4000), clock)


def test_pauses_grow_up_to_ten_seconds() -> None:
    clock = Clock()
    tries = attempts(clock, patience=1000)
    pauses = []
    for _ in range(12):
        tries.begin()
        pauses.append(tries.lost("reset"))
    assert 0.05 <= pauses[0] <= 0.2 and 5 <= pauses[-1] <= 10


def test_failures_in_a_row_are_given_up() -> None:
    clock = Clock()
    tries = attempts(clock)
    with pytest.raises(Unanswered, match=r"PUT /x got no answer: status 502"):
        while True:
            tries.begin()
            pause = tries.answered(502, {}, b"<h1>")
            clock.now += 1 + pause
    assert 45 < clock.now < 61


def test_attempts_that_were_accepted_are_no_failures() -> None:
    clock = Clock()
    tries = attempts(clock)
    for _ in range(30):
        tries.begin()
        clock.now += 60
        assert tries.lost("read timeout") < 0.2
    with pytest.raises(Unanswered):
        while True:
            tries.begin()
            clock.now += 60
            tries.lost("read timeout")
    assert 3900 < clock.now < 4100


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    clock = Clock()
    tries = attempts(clock)
    for status in (429, 503) * 10:
        tries.begin()
        assert 30 <= tries.answered(status, {"retry-after": "30"}, b"") < 30.2
        clock.now += 30
    tries.begin()
    with pytest.raises(Unanswered):
        tries.answered(429, {"retry-after": "86400"}, b"")


def test_retry_after_is_a_number_or_a_date() -> None:
    date = datetime.now(timezone.utc) + timedelta(seconds=90)
    later = retry_after({"retry-after": format_datetime(date, usegmt=True)})
    assert later is not None and 80 < later <= 90
    assert retry_after({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}) == 0
    assert retry_after({"retry-after": "7"}) == 7
    assert [retry_after({"retry-after": text}) for text in ("soon", "-1", "", "²")] == [None] * 4
    assert retry_after({}) is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 412, 413, 415, 416, 422])
def test_a_problem_is_final(status: int) -> None:
    with pytest.raises(Refused) as refused:
        attempts(Clock()).answered(
            status, {"content-type": "application/problem+json"}, b'{"code": "x", "detail": "y"}'
        )
    for error in (refused.value, pickle.loads(pickle.dumps(refused.value))):
        assert (error.code, error.status, error.detail, str(error)) == ("x", status, "y", "x: y")


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        *[(status, "application/problem+json", b'{"code": "x"}') for status in (408, 421, 429, 500, 502, 503, 504)],
        (404, "text/html", b"<h1>Not found</h1>"),
        (404, "application/problem+json", b'{"title": "of another program"}'),
        (404, "application/problem+json", b"[]"),
        (404, "application/problem+json", b"{"),
        (302, "text/html", b""),
    ],
)
def test_other_answers_are_not_final(status: int, kind: str, body: bytes) -> None:
    assert attempts(Clock()).answered(status, {"content-type": kind}, body) > 0


def test_the_host_of_a_chat_is_remembered_until_it_is_lost() -> None:
    tries = attempts(Clock())
    assert tries.begin() == "http://a"
    tries.answered(421, {"toolhost-host": "http://b/"}, b"")
    assert tries.begin() == tries.home.url == "http://b"
    tries.lost("refused")
    assert tries.begin() == "http://a"


def in_a_thread(url: str, **limits: float) -> Reply:
    with Toolhost(url, "token", **limits) as toolhost:
        return toolhost.chat("a chat").call("1.0", "execute", {"command": "true"})


def in_a_task(url: str, backend: str = "asyncio", **limits: float) -> Reply:
    async def call() -> Reply:
        async with AsyncToolhost(url, "token", **limits) as toolhost:
            return await toolhost.chat("a chat").call("1.0", "execute", {"command": "true"})

    return anyio.run(call, backend=backend)


both = pytest.mark.parametrize("call", [in_a_thread, in_a_task, partial(in_a_task, backend="trio")])


@both
def test_a_call_is_repeated_until_it_has_its_reply(call: Callable[..., Reply], answers: Answers) -> None:
    answers.answers = [
        problem(429, "busy", retry_after="0"),
        problem(503, "shutting_down", retry_after="Sun, 06 Nov 1994 08:49:37 GMT"),
        Answer(503, b"soon", {"retry-after": "soon"}, "text/plain"),
        Answer(504, b"<h1>", kind="text/html"),
        Answer(200, b"<h1>a proxy</h1>", kind="text/html"),
        problem(421, "other_host", toolhost_host=answers.url),
        Answer(200, reply(), cut=True),
        Answer(200, reply("once")),
    ]
    assert call(answers.url).text == "once"
    assert len(answers.requests) == 8 and len({request[3] for request in answers.requests}) == 1
    method, path, headers, body = answers.requests[-1]
    assert (method, path) == ("PUT", "/v1/chats/a%20chat/calls/1.0")
    assert headers["authorization"] == "Bearer token"
    assert json.loads(body) == {"tool": "execute", "arguments": {"command": "true"}}


@both
def test_a_refusal_is_raised_at_once(call: Callable[..., Reply], answers: Answers) -> None:
    answers.answers = [problem(409, "cancelled")]
    with pytest.raises(Refused) as refused:
        call(answers.url)
    assert refused.value.may_have_run and "may have run" in refused.value.text
    assert len(answers.requests) == 1


@both
def test_a_server_that_is_not_there_is_given_up(call: Callable[..., Reply]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unanswered, match="ConnectError"):
            call(f"http://127.0.0.1:{taken.getsockname()[1]}", patience=0.3)


def test_each_call_of_a_chat_has_its_attributes(answers: Answers) -> None:
    answers.answers = [Answer(200, reply())]
    with Toolhost(answers.url, "token") as toolhost:
        chat = toolhost.chat("c", workspace="team/web", attributes={"locale": "de"})
        chat.run([Call("1.0", "execute", "{}", "x")])
    sent = {"workspace": "team/web", "attributes": {"locale": "de"}, "tool": "execute", "arguments": "{}"}
    assert json.loads(answers.requests[0][3]) == sent


def test_an_interruption_while_jobs_are_started_cancels_them() -> None:
    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        sleep(3600)

    cancelled: list[str] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            gather([interrupt, *[partial(sleep, 3600)] * 100], lambda: cancelled.append("all"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled == ["all"]


def test_an_interruption_cancels_calls_that_are_being_repeated(answers: Answers) -> None:
    interrupt = partial(os.kill, os.getpid(), signal.SIGINT)
    # The interruption arrives while the calls wait for their next attempts.
    answers.answers = [problem(503, "loading", retry_after="30"), problem(503, "loading", retry_after="30")]
    answers.answers[1].before = interrupt
    answers.answers += [problem(500, "internal"), Answer(200, reply(state="cancelled")), problem(404, "unknown_call")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Toolhost(answers.url, "token") as toolhost, pytest.raises(KeyboardInterrupt):
            toolhost.chat("c").run([Call(id, "execute", {}, id) for id in ("1.0", "1.1")])
    finally:
        signal.signal(signal.SIGINT, before)
    sent = [(method, path[-3:]) for method, path, _, _ in answers.requests]
    assert sorted(sent[:2]) == [("PUT", "1.0"), ("PUT", "1.1")]
    assert {("DELETE", "1.0"), ("DELETE", "1.1")} == set(sent[2:]) and len(sent) == 5
