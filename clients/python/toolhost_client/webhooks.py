"""Webhooks: checks the signature of Standard Webhooks, and reads the notice."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from .types import Notice

# A webhook may be so many seconds old, or ahead of this clock.
TOLERANCE = 300


class Forged(Exception):
    """The webhook does not come from a server that has the secret, or is too old."""


@dataclass(frozen=True)
class Webhook:
    """A webhook whose signature is right. It can come more than once, with the same `id`."""

    id: str
    type: str
    timestamp: str
    chat: str
    notice: Notice


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> Webhook:
    """Returns the webhook of a request. Raises `Forged`. `body` is the body as it came.

    The secret is that of the server's `secret_file`: `whsec_` and base64, or any other text.
    """
    given = {name.lower(): value for name, value in headers.items()}
    id, sent = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    signatures = given.get("webhook-signature", "").split()
    secret = secret.strip()
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    signed = hmac.digest(key, f"{id}.{sent}.".encode() + body, hashlib.sha256)
    expected = b"v1," + base64.b64encode(signed)
    if not any([hmac.compare_digest(expected, signature.encode()) for signature in signatures]):
        raise Forged("no signature of the webhook is right")
    if not sent.isdecimal() or abs((time.time() if now is None else now) - int(sent)) > TOLERANCE:
        raise Forged("the webhook is too old, or this clock is wrong")
    event = json.loads(body)
    data = event["data"]
    return Webhook(id, event["type"], event["timestamp"], data["chat"], data)
