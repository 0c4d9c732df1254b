"""A chat with a real Toolhost: everything that its methods do, once blocking and once not."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from conftest import TOKEN, Server
from toolhost_client import AsyncToolhost, Call, Pending, Refused, Reply, Toolhost
from toolhost_client.events import CallChanged, ChatEnded, Event, Output, ProcessChanged, ProcessStarted, Reset
from unreliable import Fate, Unreliable


@pytest.fixture
def toolhost(server: Server) -> Iterator[Toolhost]:
    with Toolhost(server.url, TOKEN) as toolhost:
        yield toolhost


def test_calls(toolhost: Toolhost) -> None:
    chat = toolhost.chat("c")
    assert {tool["name"] for tool in chat.tools("anthropic")} >= {"execute", "read_file"}
    assert {tool["strict"] for tool in chat.tools("openai-responses", strict=True)} == {True}
    reply = chat.call("1.0", "execute", {"command": "echo hello"}, attributes={"locale": "de"})
    assert (reply.id, reply.state, reply.is_error, reply.structured["output"]) == ("1.0", "finished", False, "hello\n")
    assert chat.get("1.0") == chat.call("1.0", "execute", '{"command": "echo hello"}') == reply
    with pytest.raises(Refused, match="input_mismatch"):
        chat.call("1.0", "execute", {"command": "echo other"})
    assert chat.cancel("2.0") is None
    assert chat.get("2.0") == Pending("2.0", "cancelled", tombstone=True)
    assert chat.run([Call("2.0", "execute", {"command": "true"}, "x")])[0].is_error
    assert chat.run([]) == []
    chat.call("3.0", "execute", {"command": "exit 1"})
    assert [call["id"] for call in chat.calls(success=False)] == ["3.0"]
    assert [call["id"] for call in chat.calls(limit=1)] == ["3.0", "1.0"]


def test_a_token_that_is_not_valid_is_for_the_program(server: Server) -> None:
    with Toolhost(server.url, "another-token") as toolhost, pytest.raises(Refused) as refused:
        toolhost.chat("c").run([Call("1.0", "execute", {}, "x")])
    assert refused.value.code == "wrong_token"


def test_processes(toolhost: Toolhost) -> None:
    chat = toolhost.chat("c")
    command = "read line; echo got $line; exec sleep 1000"
    started = chat.call("1.0", "execute", {"command": command, "run_in_background": True, "keep_input_open": True})
    [id] = started.processes
    assert chat.process(id)["takes_input"]
    notices = {chat.notify(id, "got"), chat.notify(id)}
    # The events that are kept follow a reset.
    events = chat.events(call="1.0", after="none-0")
    chat.input(id, b"a line\n")
    output = next(event for event in events if isinstance(event, Output))
    assert (output.process, output.text) == (id, "got a line\n")
    assert chat.output(id, since=4)["text"] == "a line\n"
    assert [process["id"] for process in chat.processes(running=True)] == [id]
    chat.signal(id, "kill")
    assert next(event for event in events if isinstance(event, ProcessChanged)).signal == "SIGKILL"
    with pytest.raises(Refused) as refused:
        chat.input(id, "too late")
    assert refused.value.code == "no_input"
    assert {notice["id"] for notice in chat.notices()} == notices
    for notice in notices:
        chat.forget(notice)
    assert chat.notices() == []


def test_files(toolhost: Toolhost, tmp_path: Path) -> None:
    chat, local = toolhost.chat("c"), tmp_path / "local"
    local.write_bytes(b"a" * 3_000_000)

    def stream() -> Iterator[bytes]:
        yield from [b"in ", b"pieces"]

    etag = chat.files.put("in/a file?.txt", b"bytes")
    chat.files.put("in/local", local)
    chat.files.put("in/stream", stream)
    assert [entry["name"] for entry in chat.files.list("in")] == ["a file?.txt", "local", "stream"]
    assert chat.files.read("in/a file?.txt") == b"bytes"
    assert chat.files.read("in/stream") == b"in pieces"
    with chat.files.get("in/local") as response:
        assert sum(map(len, response.iter_bytes())) == 3_000_000
    with chat.files.archive("in") as response:
        archive = zipfile.ZipFile(io.BytesIO(response.read()))
        assert len(archive.namelist()) == 3
    for conditions in ({"if_none_match": "*"}, {"if_match": '"other"'}):
        with pytest.raises(Refused) as refused:
            chat.files.put("in/a file?.txt", b"new", **conditions)
        assert refused.value.code == "file_changed"
    chat.files.put("in/a file?.txt", b"new", if_match=etag)
    absolute = str(tmp_path / "workspace/in/a file?.txt")
    assert chat.files.read(absolute) == b"new"
    assert chat.link("in/stream", 3600)["size"] == 9
    chat.files.delete("in", recursive=True)
    assert not list(chat.files.list())


def test_a_repeated_change_of_a_file_finds_its_own_version(toolhost: Toolhost) -> None:
    lost: Fate = (504, {})
    direct = toolhost.chat("c").files

    def stream() -> Iterator[bytes]:
        yield from [b"a ", b"stream"]

    # The answer to the first request is lost, though the server did what it said.
    def files() -> Any:
        proxy = Unreliable(toolhost.url, [lost], ("PUT", "DELETE"))
        proxies.append(proxy)
        return Toolhost(proxy.url, TOKEN).chat("c").files

    proxies: list[Unreliable] = []
    etag = files().put("a", b"first", if_none_match="*")
    etag = files().put("a", stream, if_match=etag)
    assert direct.read("a") == b"a stream"
    files().delete("a", if_match=etag)
    assert not list(direct.list())
    # The version of another writer is a refusal, and so is a condition that never held.
    direct.put("a", b"another")
    with pytest.raises(Refused) as refused:
        files().put("a", b"mine", if_none_match="*")
    assert refused.value.code == "file_changed" and direct.read("a") == b"another"
    with pytest.raises(Refused) as refused:
        direct.put("a", b"another", if_none_match="*")
    assert refused.value.code == "file_changed"
    with pytest.raises(Refused) as refused:
        direct.delete("b")
    assert refused.value.code == "unknown_file"
    assert [proxy.calls for proxy in proxies] == [2, 2, 2, 2]
    for proxy in proxies:
        proxy.close()


def test_ports_and_workspaces(toolhost: Toolhost) -> None:
    chat = toolhost.chat("c")
    assert chat.bind("default") == {"workspace": "default"}
    assert chat.ports() == []
    with pytest.raises(Refused):
        chat.bind("another")


def until_the_end_of_a_call(events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        yield event
        if isinstance(event, CallChanged) and event.state == "finished":
            return


def test_events_go_on_after_an_id(toolhost: Toolhost) -> None:
    chat = toolhost.chat("c")
    events = chat.events(after="none-0")
    assert isinstance(next(events), Reset)
    chat.call("1.0", "execute", {"command": "echo one"})
    first = list(until_the_end_of_a_call(events))
    events.close()
    chat.call("2.0", "execute", {"command": "echo two"})
    found = [*until_the_end_of_a_call(chat.events(after=first[2].id))]
    assert found == first[3:]
    again = [*until_the_end_of_a_call(chat.events(after=first[-1].id))]
    assert {event.call for event in again if isinstance(event, CallChanged)} == {"2.0"}
    assert [event.text for event in again if isinstance(event, Output)] == ["two\n"]


def test_events_over_a_restart(server: Server) -> None:
    """A stream goes on with the server that starts again, and says that it lost the events before."""
    with Toolhost(server.url, TOKEN) as toolhost:
        chat = toolhost.chat("c")
        # The server does not know this event, so that the first one comes at once.
        events = chat.events(after="none-0")
        assert isinstance(next(events), Reset)
        chat.call("1.0", "execute", {"command": "echo one"})
        kinds = [type(event) for event in until_the_end_of_a_call(events)]
        assert [kinds.count(kind) for kind in (ProcessStarted, Output, ProcessChanged)] == [1, 1, 1]
        server.kill()
        server.start()
        while not isinstance(event := next(events), Reset):
            pass
        assert event.reason == "unknown_id"
        chat.call("2.0", "execute", {"command": "echo two"})
        chat.end()
        rest = list(events)
        assert isinstance(rest[-1], ChatEnded)
        assert "two\n" in [event.text for event in rest if isinstance(event, Output)]


def test_a_task_that_is_cancelled_cancels_its_calls(server: Server) -> None:
    """The asynchronous half, with calls at the same time and an address that is a socket."""

    async def stream() -> AsyncIterator[bytes]:
        yield b"in "
        yield b"pieces"

    async def main() -> None:
        async with AsyncToolhost(f"unix:{server.directory}/state/toolhost.sock", TOKEN) as toolhost:
            chat = toolhost.chat("c")
            await chat.files.put("stream", stream)
            await chat.files.put("local", server.directory / "workspace/stream")
            assert [entry["name"] async for entry in chat.files.list()] == ["local", "stream"]
            calls = [
                Call(
                    id,
                    "execute",
                    {"command": f"echo {id} > {id}.new; mv {id}.new {id}; exec sleep 1000", "timeout": "1h"},
                    id,
                )
                for id in ("1.0", "1.1")
            ]
            async with anyio.create_task_group() as group:
                group.start_soon(chat.run, calls)
                async for event in chat.events():
                    if isinstance(event, ProcessStarted) and len(await chat.processes(running=True)) == 2:
                        break
                group.cancel_scope.cancel()
            for call in calls:
                reply = await chat.get(call.id)
                assert isinstance(reply, Reply) and reply.state in ("finished", "cancelled"), reply
                assert reply.structured["cancelled"]
            await chat.end()

    anyio.run(main)
