"""A proxy before a Toolhost: it is busy first, then answers for the server, and loses a reply."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

# The fates of the first requests for calls. The server gets the requests whose fate has a status of 504, and `cut`.
Fate = tuple[int | str, dict[str, str]]
FATES: list[Fate] = [
    (429, {"retry-after": "0"}),
    (503, {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}),
    (504, {}),
    ("cut", {}),
]


class Unreliable:
    """The proxy. `calls` counts the requests with one of the methods, of which the first have fates."""

    def __init__(self, to: str, fates: Sequence[Fate] = FATES, methods: Sequence[str] = ("PUT",)) -> None:
        self.calls = 0
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def forward(self) -> None:
                body = self.body()
                fate: int | str = 200
                headers: dict[str, str] = {}
                if self.command in methods:
                    with lock:
                        fate, headers = fates[outer.calls] if outer.calls < len(fates) else (200, {})
                        outer.calls += 1
                if fate in (429, 503):
                    return self.answer(int(fate), headers, b"busy")
                names = ("authorization", "content-type", "if-match", "if-none-match")
                passed = {name: self.headers[name] for name in names if name in self.headers}
                got = httpx2.request(self.command, to + self.path, headers=passed, content=body, timeout=60)
                if fate == 504:
                    return self.answer(504, {"content-type": "text/html"}, b"<h1>504 Gateway Time-out</h1>")
                kind = {"content-type": got.headers.get("content-type", "application/json")}
                kind |= {"etag": got.headers["etag"]} if "etag" in got.headers else {}
                self.answer(got.status_code, kind, got.content, cut=fate == "cut")

            def body(self) -> bytes:
                """Reads the body, whole or in chunks."""
                if self.headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("content-length", 0)))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def answer(self, status: int, headers: dict[str, str], body: bytes, cut: bool = False) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if cut else body)

            do_GET = do_PUT = do_DELETE = forward

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Ends the proxy."""
        self.server.shutdown()
        self.server.server_close()
