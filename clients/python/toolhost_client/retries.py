"""Retries: when a request is repeated, where, and when the client gives up. Does no input or output."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from .errors import Refused, Unanswered

LOG = logging.getLogger("toolhost_client")
# An attempt that failed after this many seconds was accepted: most likely the call runs.
ACCEPTED = 20
# The longest pause in seconds, if the server names none.
LONGEST = 10


class Home:
    """The host that answers for a chat: the configured one, or the one that a 421 has named."""

    def __init__(self, url: str) -> None:
        self.configured = self.url = url


class Attempts:
    """The attempts to get the answer to one request."""

    def __init__(
        self, what: str, home: Home, patience: float, deadline: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.what, self.home, self.patience, self.clock = what, home, patience, clock
        self.failures = 0
        # Whether an attempt may have been carried out.
        self.may_be_done = False
        self.began = self.failing_since = clock()
        self.deadline = self.began + deadline

    def begin(self) -> str:
        """Begins an attempt, and returns the URL of the server for it."""
        self.began = self.clock()
        return self.home.url

    def lost(self, reason: object, *, sent: bool = True) -> float:
        """Returns the pause in seconds after an attempt that got no answer, or was not even sent."""
        self.may_be_done |= sent
        self.home.url = self.home.configured
        return self._pause(repr(reason), None)

    def answered(self, status: int, headers: Mapping[str, str], body: bytes) -> float:
        """Returns the pause in seconds after an answer that is no success. Raises `Refused` if the answer is final."""
        problem = problem_of(headers, body)
        code = problem.get("code", "")
        if code and 400 <= status < 500 and status not in (408, 421, 429):
            refused = Refused(code, status, problem.get("detail", ""))
            refused.after_lost_answer = self.may_be_done
            raise refused
        wait = retry_after(headers) if status in (429, 503) else None
        self.may_be_done |= wait is None and status not in (408, 421, 429)
        if status == 421 and headers.get("toolhost-host"):
            self.home.url = headers["toolhost-host"].rstrip("/")
        return self._pause(f"status {status} {code}".rstrip(), wait)

    def _pause(self, reason: str, wait: float | None) -> float:
        now = self.clock()
        # The server is there if it took the request for a while, or said when to come back.
        if wait is not None or now - self.began > ACCEPTED:
            self.failures, self.failing_since = 0, now
        else:
            self.failures += 1
        # The jitter keeps clients from coming back at the same moment.
        pause = (wait or 0) + min(0.1 * 2.0**self.failures, LONGEST) * random.uniform(0.5, 1)
        if now + pause >= min(self.failing_since + self.patience + (wait or 0), self.deadline):
            raise Unanswered(f"{self.what} got no answer: {reason}")
        if self.failures > 2:
            LOG.warning("%s got no answer, and is repeated in %.0f s: %s", self.what, pause, reason)
        return pause


def problem_of(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """Returns the problem document of an answer. It is empty if something else has answered, such as a proxy."""
    if not headers.get("content-type", "").startswith("application/problem+json"):
        return {}
    try:
        problem = json.loads(body)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that `Retry-After` asks for, as a number or a date."""
    header = headers.get("retry-after", "")
    if header.isascii() and header.isdecimal():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except (ValueError, TypeError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return max((date - datetime.now(timezone.utc)).total_seconds(), 0)
