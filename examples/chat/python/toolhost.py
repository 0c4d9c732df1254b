"""A client of Toolhost's HTTP API: what a chat server needs of it, and no more."""

import itertools
import json
import time
from urllib.parse import quote

import httpx2

# How often a request is repeated that got no answer, at growing distances: about half a minute in all.
REPEATS = 8


class Refused(Exception):
    """Toolhost did not run a call, and says why. `code` is for programs."""

    def __init__(self, response: httpx2.Response):
        problem = response.json() if "json" in response.headers.get("content-type", "") else {}
        self.code = problem.get("code", str(response.status_code))
        super().__init__(f"{self.code}: {problem.get('detail', response.text)}")


class Toolhost:
    """The tools of one Toolhost, for one chat."""

    def __init__(self, url: str, token: str, chat: str):
        # A tool may run for as long as it is allowed to, so that nothing is said about reading. Connecting is another matter.
        self.http = httpx2.Client(
            base_url=url,
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(10, read=None),
        )
        self.chat = f"/v1/chats/{quote(chat, safe='')}"

    def tools(self, dialect: str) -> list:
        """The definitions, to be passed on to the model: `openai`, `openai-responses` or `anthropic`."""
        return self.send("GET", "/v1/tools", params={"format": dialect})

    def call(self, id: str, tool: str, arguments: dict) -> dict:
        """Runs a call once, however often it is asked for, and returns its reply.

        The id is the one that the model's provider gave the call.
        """
        return self.send("PUT", self.path(id), json={"tool": tool, "arguments": arguments})

    def cancel(self, id: str) -> None:
        """Ends a call with all that it started. If it has not begun yet, it never will."""
        self.send("DELETE", self.path(id))

    def path(self, id: str) -> str:
        return f"{self.chat}/calls/{quote(id, safe='')}"

    def send(self, method: str, path: str, **content):
        for attempt in itertools.count():
            try:
                response = self.http.request(method, path, **content)
            except httpx2.TransportError:
                # Did it run? Nobody has to know: the same request again waits for it, or gets the reply that was saved.
                if attempt == REPEATS:
                    raise
                time.sleep(0.1 * 2**attempt)
                continue
            if response.status_code in (429, 503) and "retry-after" in response.headers:
                time.sleep(float(response.headers["retry-after"]))
                continue
            if response.is_error:
                raise Refused(response)
            return response.json() if response.content else None


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
