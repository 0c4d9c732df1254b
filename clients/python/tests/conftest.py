"""Servers for the tests: one that answers as a test says, Toolhost itself, and the scripted model of examples/chat."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
TOKEN = "a-token-of-the-tests"
sys.path.insert(0, str(ROOT / "clients/python"))


@dataclass
class Answer:
    """An answer of the server. With `cut`, the connection ends in the middle of the body. `before` is called before it."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    cut: bool = False
    before: Callable[[], object] = bool


@dataclass
class Answers:
    """A server that answers one request after the other as it was told, and remembers them."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def answers() -> Iterator[Answers]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            said.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            answer = said.answers.pop(0)
            answer.before()
            content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-type", answer.kind)
            self.send_header("content-length", str(len(content) + answer.cut))
            self.end_headers()
            self.wfile.write(content)
            if answer.cut:
                self.close_connection = True

        do_GET = do_PUT = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    said = Answers(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield said
    server.shutdown()
    server.server_close()


def problem(status: int, code: str, **headers: str) -> Answer:
    """Returns an answer with a problem document."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"code": code, "detail": "so it is"}, named, "application/problem+json")


def reply(text: str = "done", **fields: Any) -> dict[str, Any]:
    """Returns the JSON of a reply."""
    content = [{"type": "text", "text": text}]
    times = {"duration_ms": 1, "queued_ms": 0}
    whole = {"id": "1.0", "tool": "execute", "state": "finished", "is_error": False, "content": content, **times}
    return {**whole, "processes": [], **fields}


@dataclass
class Server:
    """A Toolhost with a directory of its own."""

    directory: Path
    url: str = "http://127.0.0.1:0"
    process: subprocess.Popen[str] | None = None
    arguments: list[str] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.directory / "workspace"

    def start(self) -> None:
        """Starts the server, at the same address if it ran before."""
        self.workspace.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [
                *[os.environ["TOOLHOST_PROGRAM"], "serve", "--listen", self.url.removeprefix("http://")],
                *["--workspace", str(self.workspace), "--state-dir", str(self.directory / "state"), *self.arguments],
            ],
            env={**os.environ, "TOOLHOST_TOKEN": TOKEN, "TOOLHOST_SANDBOX_NO_NAMESPACES": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("listening on http"):
                self.url = line.removeprefix("listening on ").strip()
                break
        else:
            raise AssertionError(f"the server does not listen: {''.join(said)}")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def kill(self) -> None:
        """Kills the server."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    if "TOOLHOST_PROGRAM" not in os.environ:
        pytest.skip("the variable TOOLHOST_PROGRAM does not name a toolhost")
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


@dataclass
class Model:
    """The scripted model of examples/chat."""

    directory: Path
    url: str = ""
    process: subprocess.Popen[str] | None = None

    def start(self, *turns: Any) -> None:
        """Starts the model with the turns of a script, and has the SDKs find it."""
        self.start_with({"turns": turns})

    def start_with(self, whole: Any) -> None:
        """Starts the model with a whole script."""
        script = self.directory / "script.json"
        script.write_text(json.dumps(whole))
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "examples/chat/model"), str(script), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()

    def environment(self) -> dict[str, str]:
        """Returns the variables that the SDKs read."""
        return {
            **{"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{self.url}/v1"},
            **{"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": self.url},
            **{"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.url},
            **{"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "us-east-1"},
            **{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.url, "AWS_CONFIG_FILE": os.devnull},
        }


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    directory = tmp_path / "model"
    directory.mkdir()
    model = Model(directory)
    yield model
    if model.process:
        model.process.kill()
        model.process.wait()
