"""Webhooks and approval hooks, with the example of Standard Webhooks and the library of its authors."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest
import standardwebhooks

from toolhost_client.approvals import answer, question
from toolhost_client.webhooks import Forged, verify

# https://github.com/standard-webhooks/standard-webhooks has this example.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, SENT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def signed(body: bytes, secret: str = SECRET, sent: int = SENT) -> dict[str, str]:
    """Returns the headers of a webhook."""
    by_library = standardwebhooks.Webhook(secret if secret.startswith("whsec_") else secret.encode())
    signature = by_library.sign(ID, datetime.fromtimestamp(sent, timezone.utc), body.decode())
    return {"Webhook-Id": ID, "Webhook-Timestamp": str(sent), "Webhook-Signature": signature}


def notice() -> bytes:
    data = {"chat": "support-42", "id": "n", "process": "p", "command": "make", "on": "exit", "asked_at_unix": 1}
    event = {"type": "process.exited", "timestamp": "2026-11-29T10:00:00.000Z", "data": data}
    return json.dumps(event).encode()


def test_the_signature_of_the_example() -> None:
    headers = {"webhook-id": ID, "webhook-timestamp": str(SENT), "webhook-signature": SIGNATURE}
    # Its body is that of no notice, which is noticed after its signature.
    with pytest.raises(KeyError):
        verify(SECRET, headers, BODY, now=SENT)
    with pytest.raises(Forged):
        verify(SECRET, headers, BODY + b" ", now=SENT)


@pytest.mark.parametrize("secret", [SECRET, "a secret of sixteen bytes", SECRET + "\n"])
def test_a_webhook_has_a_notice(secret: str) -> None:
    headers = signed(notice(), secret.strip())
    headers["Webhook-Signature"] = f"v1a,other v1,bm8= {headers['Webhook-Signature']}"
    webhook = verify(secret, headers, notice(), now=SENT + 299)
    assert (webhook.id, webhook.type, webhook.chat) == (ID, "process.exited", "support-42")
    assert webhook.notice["process"] == "p"


@pytest.mark.parametrize("now", [SENT - 301, SENT + 301])
def test_an_old_webhook_is_refused(now: int) -> None:
    with pytest.raises(Forged, match="old"):
        verify(SECRET, signed(notice()), notice(), now=now)


@pytest.mark.parametrize("name", ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"])
@pytest.mark.parametrize("value", [None, "", "x", "v1,ä"])
def test_a_changed_header_is_refused(name: str, value: str | None) -> None:
    headers = signed(notice())
    del headers[name]
    if value is not None:
        headers[name] = value
    with pytest.raises(Forged):
        verify(SECRET, headers, notice(), now=SENT)


def test_an_approval() -> None:
    hints = {"read_only": False, "non_destructive": False, "idempotent": False, "closed_world": False}
    asked = {"principal": "token", "chat": "c", "call": None, "plugin": "shell", "tool": "execute", "hints": hints}
    read = question(json.dumps({**asked, "arguments": {"command": "rm"}, "new": 1}))
    assert (read.principal, read.chat, read.call, read.tool) == ("token", "c", None, "execute")
    assert read.arguments == {"command": "rm"} and not read.hints["read_only"]
    assert json.loads(answer(True)) == {"approved": True}
    assert json.loads(answer(False, "not today")) == {"approved": False, "reason": "not today"}
