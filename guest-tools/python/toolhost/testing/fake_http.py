"""Responses to HTTP requests, all of them scripted."""

import json as text_of_json
from dataclasses import dataclass

from ..errors import HostError
from ..host.native import Missing
from ..http import Response, split


@dataclass(frozen=True)
class Request:
    """A request that the plugin sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    timeout: float | None


class FakeHttp:
    """Stands in for the network. `requests` has what was sent.

    A URL without any response is not granted. A request with another method than the responses of its URL is a mistake of the test,
    which ends it.
    """

    def __init__(self):
        # By method, scheme, authority and path. The last of several responses stays.
        self.responses: dict[tuple, list[Response | HostError]] = {}
        self.requests: list[Request] = []
        self.unanswered: list[str] = []
        self.is_complete = False

    @classmethod
    def of_case(cls, exchanges: list[dict]) -> "FakeHttp":
        """Makes the network of a case: a request without an answer ends the test."""
        http = cls()
        http.is_complete = True
        for exchange in exchanges:
            request, answer = exchange["request"], exchange.get("answer", {})
            body = text_of_json.dumps(answer["json"]) if "json" in answer else answer.get("body", "")
            headers = {name.lower(): value for name, value in answer.get("headers", {}).items()}
            response = Response(answer.get("status", 200), headers, body.encode())
            http.responses.setdefault(target(request.get("method", "GET"), request["url"]), []).append(response)
        return http

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
        self.responses[target(method, url)] = [Response(status, names, data)]
        return self

    def fails(self, url: str, text: str = "the request failed: connection-refused", *, method: str = "GET") -> "FakeHttp":
        """Makes this URL unreachable."""
        self.responses[target(method, url)] = [HostError("unavailable", text)]
        return self

    def send(self, method: str, url: str, headers: dict[str, str], body: bytes, timeout: float | None) -> Response:
        self.requests.append(Request(method, url, headers, body, timeout))
        found = self.responses.get(target(method, url))
        if found is None:
            raise self.refusal(method, url)
        response = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(response, HostError):
            raise response
        return response

    def refusal(self, method: str, url: str) -> Exception:
        """Returns the error of a request without a response, which says what there is."""
        _, *place = target(method, url)
        methods = [known for known, *other in self.responses if other == place]
        known = methods or [f"{known} {scheme}://{authority}{path}" for known, scheme, authority, path in self.responses]
        there_is = f"there is one for {' and '.join(known)}" if known else "there are no answers"
        text = f"no answer for {method} {url}; {there_is}"
        if methods or self.is_complete:
            self.unanswered.append(text)
            return Missing(text)
        return HostError("denied", f"the plugin was not granted requests to this destination: {text}")


def target(method: str, url: str) -> tuple[str, str, str, str]:
    scheme, authority, path = split(url)
    return method.upper(), scheme, authority.lower(), path
