"""The loops of examples/chat: with the SDKs of the providers, the scripted model and a Toolhost that fails."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, TOKEN, Model, Server
from unreliable import FATES, Unreliable

PROVIDERS = ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]
every_provider = pytest.mark.parametrize("provider", PROVIDERS)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def execute(name: str, command: str, **fields: Any) -> Any:
    """Returns a call in a script."""
    return {"as": name, "tool": "execute", "arguments": {"command": command, **fields}}


@contextmanager
def chat(provider: str, model: Model, url: str, messages: Path, *prompt: str) -> Iterator[subprocess.Popen[str]]:
    """Runs examples/chat/python/chat.py."""
    environment = {**os.environ, **model.environment(), "TOOLHOST_URL": url, "TOOLHOST_TOKEN": TOKEN}
    process = subprocess.Popen(
        [
            *[sys.executable, str(ROOT / "examples/chat/python/chat.py"), "--provider", provider],
            *["--chat", "c", "--messages", str(messages), *prompt],
        ],
        env={**environment, "PYTHONPATH": str(ROOT / "clients/python")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], code: int = 0) -> list[str]:
    """Returns the lines that a program printed before it ended."""
    stdout, stderr = process.communicate()
    assert process.returncode == code, stderr
    return [line for line in (stdout if code == 0 else stderr).splitlines() if line]


def fifo(server: Server, name: str) -> Path:
    """Makes a FIFO in the workspace, by which a command and a test wait for each other."""
    os.mkfifo(server.workspace / name)
    return server.workspace / name


@every_provider
def test_each_prompt_has_its_dialog(provider: str, model: Model, server: Server) -> None:
    first = [{"calls": [execute("one", "echo 1 | tee -a log")]}, {"text": "first {one.output}"}]
    # A result names an item of a list by its place.
    second = [
        {"calls": [{"as": "read", "tool": "find_files", "arguments": {"glob": "log"}}]},
        {"text": "second {read.paths.0}"},
    ]
    dialogs = [
        {"when": "^one$", "turns": first},
        {"when": "TWO", "turns": second},
        {"when": "", "turns": [{"text": "?"}]},
    ]
    model.start_with({"dialogs": dialogs})
    messages = server.directory / "messages.json"
    said = []
    for prompt in ("one", "and two", "one more", "one"):
        with chat(provider, model, server.url, messages, prompt) as process:
            said += ended(process)
    assert said == ["first 1", "second log", "?", "first 1"]
    assert (server.workspace / "log").read_text() == "1\n1\n"


@every_provider
def test_parallel_calls_over_a_connection_that_fails(provider: str, model: Model, server: Server) -> None:
    (server.workspace / "a.png").write_bytes(PNG)
    # Each of the first two calls waits for the other. The third and the fourth have one id.
    first, second = fifo(server, "first"), fifo(server, "second")
    model.start(
        {
            "text": "Two at once.",
            "calls": [
                execute("one", f"echo 1 >> log; echo x > {first.name}; cat {second.name}; echo one"),
                execute("two", f"cat {first.name} > /dev/null; echo two > {second.name}; echo two"),
            ],
        },
        {
            "calls": [
                {**execute("three", "echo three"), "id": "call_0"},
                {**execute("four", "echo four"), "id": "call_0"},
            ]
        },
        {"calls": [{"as": "picture", "tool": "read_file", "arguments": {"path": "a.png"}}]},
        {"calls": [{"as": "wrong", "tool": "read_file", "arguments": {"path": 1}}]},
        {"text": "{one.output}{two.output}{three.output}{four.output}{picture:images}\n{wrong:is_error}"},
    )
    proxy = Unreliable(server.url)
    messages = server.directory / "messages.json"
    with chat(provider, model, proxy.url, messages, "Go.") as process:
        lines = ended(process)
    proxy.close()
    # OpenAI's APIs have no field for an error.
    is_error = str(not provider.startswith("openai"))
    assert lines == [
        "Two at once.",
        "two",
        "one",
        "two",
        "three",
        "four",
        f"['image/png of {len(PNG)} bytes']",
        is_error,
    ]
    assert (server.workspace / "log").read_text() == "1\n"
    assert proxy.calls == len(FATES) + 6


@every_provider
def test_a_server_that_is_killed_in_the_middle_of_a_call(provider: str, model: Model, server: Server) -> None:
    started = fifo(server, "started")
    model.start(
        {"calls": [execute("slow", f"echo once >> log; echo > {started.name}; exec sleep 1000", timeout="1h")]},
        {"calls": [execute("next", "echo next")]},
        {"text": "{slow}\n{next.output}"},
    )
    messages = server.directory / "messages.json"
    with chat(provider, model, server.url, messages, "Go.") as process:
        started.read_text()
        server.kill()
        server.start()
        *told, last = ended(process)
    assert last == "next"
    assert "unknown" in " ".join(told) or "not known" in " ".join(told), told
    assert (server.workspace / "log").read_text() == "once\n"


@every_provider
def test_a_chat_server_that_is_killed_in_the_middle_of_calls(provider: str, model: Model, server: Server) -> None:
    started, go = fifo(server, "started"), fifo(server, "go")
    model.start(
        {
            "calls": [
                execute("slow", f"echo once >> log; echo > {started.name}; cat {go.name}; echo slow", timeout="1h"),
                execute("fast", "echo once >> log2; echo fast"),
            ]
        },
        {"text": "{slow.output}{fast.output}"},
    )
    messages = server.directory / "messages.json"
    with chat(provider, model, server.url, messages, "Go.") as process:
        started.read_text()
        process.kill()
        process.wait()
    with chat(provider, model, server.url, messages) as process:
        go.write_text("")
        assert ended(process) == ["slow", "fast"]
    assert (server.workspace / "log").read_text() == (server.workspace / "log2").read_text() == "once\n"


@every_provider
def test_ctrl_c_cancels_the_calls(provider: str, model: Model, server: Server) -> None:
    started = [fifo(server, "a"), fifo(server, "b")]
    model.start(
        {"calls": [execute(path.name, f"echo $$ > {path.name}; exec sleep 1000", timeout="1h") for path in started]},
        {"text": "{a}\n{b:is_error}"},
    )
    messages = server.directory / "messages.json"
    with chat(provider, model, server.url, messages, "Go.") as process:
        pids = [int(path.read_text()) for path in started]
        process.send_signal(signal.SIGINT)
        assert ended(process, 130)[-2:] == ["cancelled 1.0", "cancelled 1.1"]
    # The answer to the cancellation comes when the command has ended.
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    with chat(provider, model, server.url, messages) as process:
        assert '"cancelled": true' in " ".join(ended(process))
