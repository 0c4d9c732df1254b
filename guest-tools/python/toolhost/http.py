"""HTTP requests to the destinations that the operator grants. The plugin needs the grant `http`.

There is no `ssl` in a component, so `urllib` and packages on top of it cannot be used.
"""

import json as text_of_json
from dataclasses import dataclass

from .errors import HostError
from .host import current


@dataclass(frozen=True)
class Response:
    """A response. The names of `headers` are in lower case; values of a repeated name are joined with commas."""

    status: int
    headers: dict[str, str]
    body: bytes = b""

    @property
    def text(self) -> str:
        """The body as text, with U+FFFD for what is not UTF-8."""
        return self.body.decode(errors="replace")

    def json(self):
        """Returns the JSON value of the body. Raises `ValueError` if it is none."""
        return text_of_json.loads(self.body)


def request(
    method: str,
    url: str,
    *,
    headers: dict[str, str] | None = None,
    body: bytes | str | None = None,
    json=None,
    timeout: float | None = None,
) -> Response:
    """Sends a request and returns the whole response, whatever its status is. Redirects are not followed.

    `json` is a value to send as JSON instead of `body`. `timeout` is in seconds, and bounds the connection, the time to the first
    byte, and the time between bytes; `None`: the host's limits.

    Raises `HostError`: its `kind` is denied if the operator did not grant the destination, and unavailable if the destination cannot
    be reached.
    """
    headers = {name.lower(): value for name, value in (headers or {}).items()}
    if json is not None:
        body = text_of_json.dumps(json)
        headers.setdefault("content-type", "application/json")
    data = body.encode() if isinstance(body, str) else body or b""
    if data:
        headers.setdefault("content-length", str(len(data)))
    split(url)
    return port().send(method.upper(), url, headers, data, timeout)


def get(url: str, **options) -> Response:
    """Sends a GET request. The options are those of `request`."""
    return request("GET", url, **options)


def post(url: str, **options) -> Response:
    """Sends a POST request. The options are those of `request`."""
    return request("POST", url, **options)


def split(url: str) -> tuple[str, str, str]:
    """Returns scheme, authority and path with query of a URL."""
    scheme, separator, rest = url.partition("://")
    rest = rest.partition("#")[0]
    ends = [at for at in (rest.find("/"), rest.find("?")) if at >= 0]
    at = min(ends, default=len(rest))
    if scheme.lower() not in ("http", "https") or not separator or not rest[:at]:
        raise HostError("invalid", f'"{url}" is not an absolute URL that begins with http:// or https://')
    path = rest[at:]
    return scheme.lower(), rest[:at], path if path.startswith("/") else f"/{path}"


# At the end, since the bindings use the types above.
port = current.load("http")
