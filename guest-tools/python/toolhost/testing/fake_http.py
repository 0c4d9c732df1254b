"""Responses to HTTP requests, all of them scripted."""

import json as text_of_json
from dataclasses import dataclass

from ..errors import HostError
from ..http import Response


@dataclass(frozen=True)
class Request:
    """A request that the plugin sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    timeout: float | None


class FakeHttp:
    """Stands in for the network. `requests` has what was sent; a URL without a response is not granted."""

    def __init__(self):
        self.responses: dict[tuple[str, str], Response | HostError] = {}
        self.requests: list[Request] = []

    def responds(
        self,
        url: str,
        body: str | bytes = b"",
        *,
        method: str = "GET",
        status: int = 200,
        headers: dict[str, str] | None = None,
        json=None,
    ) -> "FakeHttp":
        """Lets requests to this URL get this response. `json` is a value to respond with instead of `body`."""
        body = text_of_json.dumps(json) if json is not None else body
        data = body.encode() if isinstance(body, str) else body
        names = {name.lower(): value for name, value in (headers or {}).items()}
        self.responses[method, url] = Response(status, names, data)
        return self

    def fails(self, url: str, text: str = "the request failed: connection-refused", *, method: str = "GET") -> "FakeHttp":
        """Makes this URL unreachable."""
        self.responses[method, url] = HostError("unavailable", text)
        return self

    def send(self, method: str, url: str, headers: dict[str, str], body: bytes, timeout: float | None) -> Response:
        self.requests.append(Request(method, url, headers, body, timeout))
        denied = HostError("denied", "the plugin was not granted requests to this destination")
        found = self.responses.get((method, url), denied)
        if isinstance(found, HostError):
            raise found
        return found
