"""Webhooks and the approval hook of a real server."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from conftest import TOKEN, Answer, Answers, Server
from toolhost_client import Toolhost
from toolhost_client.approvals import answer, question
from toolhost_client.webhooks import Forged, verify

SECRET = "a secret of the tests"


def test_a_server_asks_and_tells(answers: Answers, server: Server, tmp_path: Path) -> None:
    server.kill()
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    configuration = tmp_path / "toolhost.toml"
    configuration.touch(mode=0o600)
    configuration.write_text(
        f"""
        approval_url = "{answers.url}/approve"
        [webhooks.chat]
        url = "{answers.url}/told"
        secret_file = "{secret}"
        """
    )
    server.arguments = ["--config", str(configuration)]
    server.start()

    told = threading.Event()
    answers.answers = [
        Answer(body=json.loads(answer(False, "not today"))),
        Answer(body=json.loads(answer(True))),
        Answer(204, b"", before=told.set),
    ]
    with Toolhost(server.url, TOKEN) as toolhost:
        chat = toolhost.chat("c")
        refused = chat.call("1.0", "execute", {"command": "echo one"})
        assert refused.is_error and "not today" in refused.text
        [process] = chat.call("1.1", "execute", {"command": "echo two"}).processes
        notice = chat.notify(process)
        assert told.wait(300)

    asked, _, (_, path, headers, body) = answers.requests
    read = question(asked[3])
    assert (asked[1], read.principal, read.chat, read.call, read.plugin) == ("/approve", "token", "c", "1.0", "shell")
    assert read.arguments == {"command": "echo one"}
    webhook = verify(SECRET, headers, body)
    assert (path, webhook.id, webhook.type, webhook.chat) == ("/told", notice, "process.exited", "c")
    assert webhook.notice["process"] == process
    with pytest.raises(Forged):
        verify(SECRET + "!", headers, body)
