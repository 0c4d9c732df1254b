"""HTTP, by the bindings of `wasi:http`."""

from componentize_py_types import Err, Ok
from wit_world.imports import outgoing_handler, streams
from wit_world.imports import types as wit

from .. import http as types
from ..errors import HostError
from . import names

# The most bytes that the host takes at once, and that are read at once.
PIECE = 4096
READ = 64 << 10

# Failures that may pass.
TRANSIENT = ("dns", "destination", "connection", "tls", "http-response", "internal-error")


def send(method: str, url: str, headers: dict[str, str], body: bytes, timeout: float | None) -> types.Response:
    try:
        return exchange(prepared(method, url, headers), body, options(timeout))
    except Err as error:
        raise refusal(error.value) from None


def prepared(method: str, url: str, headers: dict[str, str]) -> wit.OutgoingRequest:
    fields = wit.Fields.from_list([(name, value.encode()) for name, value in headers.items()])
    request = wit.OutgoingRequest(fields)
    scheme, authority, path = types.split(url)
    known = getattr(wit, f"Method_{method.capitalize()}", None)
    request.set_method(known() if known else wit.Method_Other(method))
    request.set_scheme(wit.Scheme_Https() if scheme == "https" else wit.Scheme_Http())
    request.set_authority(authority)
    request.set_path_with_query(path)
    return request


def options(timeout: float | None) -> wit.RequestOptions | None:
    if timeout is None:
        return None
    bounds, nanoseconds = wit.RequestOptions(), round(timeout * 1e9)
    bounds.set_connect_timeout(nanoseconds)
    bounds.set_first_byte_timeout(nanoseconds)
    bounds.set_between_bytes_timeout(nanoseconds)
    return bounds


def exchange(request: wit.OutgoingRequest, body: bytes, bounds) -> types.Response:
    outgoing = request.body()
    future = outgoing_handler.handle(request, bounds)
    try:
        if body:
            with outgoing.write() as stream:
                for at in range(0, len(body), PIECE):
                    stream.blocking_write_and_flush(body[at : at + PIECE])
        wit.OutgoingBody.finish(outgoing, None)
    except Err:
        # The request failed meanwhile. The future has the reason.
        pass
    with future.subscribe() as ready:
        ready.block()
    # The future is resolved, and nothing took its value before.
    outcome = future.get().value
    if not isinstance(outcome, Ok):
        raise Err(outcome.value)
    with outcome.value as response:
        headers = read_headers(response)
        return types.Response(response.status(), headers, read_body(response))


def read_headers(response: wit.IncomingResponse) -> dict[str, str]:
    found: dict[str, str] = {}
    with response.headers() as fields:
        for name, value in fields.entries():
            name, value = name.lower(), value.decode("latin-1")
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def read_body(response: wit.IncomingResponse) -> bytes:
    parts = []
    with response.consume() as body, body.stream() as stream:
        while True:
            try:
                parts.append(stream.blocking_read(READ))
            except Err as error:
                if isinstance(error.value, streams.StreamError_Closed):
                    return b"".join(parts)
                raise


def refusal(value) -> HostError:
    """Returns why a request failed as the exception that a plugin sees."""
    if value is None:
        return HostError("http", "the request is not valid: look at its method, its URL and its headers")
    if isinstance(value, streams.StreamError_LastOperationFailed):
        return HostError("unavailable", f"the connection failed: {value.value.to_debug_string()}")
    reason = names.of_case(value)
    detail = getattr(value, "value", None)
    detail = f": {detail}" if isinstance(detail, str) else ""
    if reason == "http-request-denied":
        return HostError("denied", "the plugin was not granted requests to this destination")
    kind = "unavailable" if reason.startswith(TRANSIENT) else "http"
    return HostError(kind, f"the request failed: {reason}{detail}")
