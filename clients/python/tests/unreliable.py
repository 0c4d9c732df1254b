"""A proxy before a Toolhost: it is busy first, then answers for the server, and loses a reply."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

# The fates of the first requests for calls. The server gets the requests whose fate has a status of 504, and `cut`.
FATES = [
    (429, {"retry-after": "0"}),
    (503, {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}),
    (504, {}),
    ("cut", {}),
]


class Unreliable:
    """The proxy. `calls` counts the requests for calls."""

    def __init__(self, to: str) -> None:
        self.calls = 0
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                fate, headers = 200, {}
                if self.command == "PUT":
                    with lock:
                        fate, headers = FATES[outer.calls] if outer.calls < len(FATES) else (200, {})
                        outer.calls += 1
                if fate in (429, 503):
                    return self.answer(int(fate), headers, b"busy")
                passed = {
                    name: self.headers[name] for name in ("authorization", "content-type") if name in self.headers
                }
                got = httpx2.request(self.command, to + self.path, headers=passed, content=body, timeout=60)
                if fate == 504:
                    return self.answer(504, {"content-type": "text/html"}, b"<h1>504 Gateway Time-out</h1>")
                kind = {"content-type": got.headers.get("content-type", "application/json")}
                self.answer(got.status_code, kind, got.content, cut=fate == "cut")

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
