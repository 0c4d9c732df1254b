"""A client of Toolhost's HTTP API: what a chat server needs of it, and no more."""

import json
import random
import time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import quote

import httpx2

# A request that got no reply is repeated. It is given up after this many failures in a row, which is about a minute,
FAILURES = 12
# or after this many answers that say when to come back, which is five minutes if they say a second,
REFUSALS = 300
# or after this many seconds: a call may take an hour.
PATIENCE = 4000
# How many seconds to wait for a reply before asking again: the connection may be dead, and nobody would notice.
READING = 60
# What took this many seconds to fail was no failure to connect: most likely the call runs.
LONG = 20


class Refused(Exception):
    """Toolhost refuses the request, and repeating it would not help. `code` is for programs.

    A call did not run, unless the code is `cancelled` or `gone`: then it may have.
    """

    def __init__(self, problem: dict):
        self.code = problem["code"]
        super().__init__(f"{self.code}: {problem.get('detail', '')}")


class Unanswered(Exception):
    """There was no reply for too long. The call may have run, or run now: the same request, sent later, gets its reply."""


class Toolhost:
    """The tools of one Toolhost, for one chat."""

    def __init__(self, url: str, token: str, chat: str):
        self.http = httpx2.Client(
            base_url=url,
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(10, read=READING),
        )
        self.chat = f"/v1/chats/{quote(chat, safe='')}"

    def tools(self, dialect: str) -> list:
        """The definitions, to be passed on to the model: `openai`, `openai-responses` or `anthropic`."""
        return self.send("GET", "/v1/tools", params={"format": dialect})

    def call(self, id: str, tool: str, arguments: str | dict) -> dict:
        """Runs a call once, however often it is asked for, and returns its reply. The arguments may be the text that a model wrote.

        The id must be unique in the chat, and be the same again after a restart.
        """
        return self.send("PUT", self.path(id), json={"tool": tool, "arguments": arguments})

    def cancel(self, id: str) -> None:
        """Ends a call with all that it started. If it has not begun yet, it never will."""
        self.send("DELETE", self.path(id))

    def path(self, id: str) -> str:
        return f"{self.chat}/calls/{quote(id, safe='')}"

    def send(self, method: str, path: str, **content):
        failures = refusals = 0
        deadline = time.monotonic() + PATIENCE
        while True:
            begun = time.monotonic()
            try:
                response = self.http.request(method, path, **content)
                if response.is_success:
                    return response.json() if response.content else None
                if problem := final_problem(response):
                    raise Refused(problem)
                reason, wait = f"status {response.status_code}", retry_after(response)
            except (httpx2.TransportError, json.JSONDecodeError) as error:
                reason, wait = repr(error), None
            # Did it run? Nobody has to know: the same request again waits for it, or gets the reply that was saved.
            now = time.monotonic()
            refusals += wait is not None
            failures = 0 if wait is not None or now - begun > LONG else failures + 1
            if failures >= FAILURES or refusals >= REFUSALS or now >= deadline:
                raise Unanswered(f"{method} {path}: {reason}")
            # Not everybody at the same moment.
            time.sleep((wait or 0) + min(0.1 * 2**failures, 10) * random.uniform(0.5, 1))


def final_problem(response: httpx2.Response) -> dict | None:
    """What Toolhost says is wrong with the request. `None`: it may go well later, or a proxy has answered instead."""
    status, kind = response.status_code, response.headers.get("content-type", "")
    if not 400 <= status < 500 or status in (408, 429) or not kind.startswith("application/problem+json"):
        return None
    problem = response.json()
    return problem if "code" in problem else None


def retry_after(response: httpx2.Response) -> float | None:
    """After how many seconds to come back, a minute at most. The header has a number or a date."""
    header = response.headers.get("retry-after", "")
    try:
        if header.isdecimal():
            wait = float(header)
        else:
            wait = (parsedate_to_datetime(header) - datetime.now(timezone.utc)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, 0), 60)


def text_of(reply: dict) -> str:
    """What a model reads of a reply. Images and sounds are named only; see the provider's documents for how to pass them on."""

    def part_of(part: dict) -> str:
        match part["type"]:
            case "text":
                return part["text"]
            case "json":
                return json.dumps(part["json"], ensure_ascii=False)
            case "document":
                return f"[{part['uri']}]"
            case kind:
                return f"[{kind}, {part['media_type']}]"

    return "\n".join(map(part_of, reply["content"]))
