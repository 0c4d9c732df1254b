"""A model that follows a script, behind the APIs of five providers: `python3 examples/chat/model script.json`.

It needs no key and no internet, and nothing but Python's standard library. It checks what it is sent, and answers 400
with the reason if that is not what a provider would accept or what the script expects.
"""

import argparse
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from dialects import DIALECTS, dialect_of
from script import Refused, Script


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Script
    pause = 0.0

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = unquote(self.path.split("?")[0])
        dialect = dialect_of(path)
        if dialect is None:
            known = ", ".join(dialect.path for dialect in DIALECTS)
            return self.refuse(404, f"there is no {path}; there are {known}")
        try:
            if not any(self.headers.get(key) for key in dialect.keys):
                raise Refused(f"the request has no key ({' or '.join(dialect.keys)}); any will do")
            request = json.loads(body)
            tools, conversation = dialect.read(request)
            said = self.script.next(tools, conversation, dialect.prefix)
            streams = request.get("stream") or "stream" in path
            reply = list(dialect.stream(request, said)) if streams else dialect.write(request, said)
        except Refused as refusal:
            return self.refuse(400, str(refusal))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self.refuse(400, f"the request is not what {self.path} takes: {error!r}")
        if not streams:
            return self.answer(200, reply)
        self.send_response(200)
        self.send_header("content-type", getattr(dialect, "stream_type", "text/event-stream"))
        self.send_header("connection", "close")
        self.end_headers()
        for event in reply:
            self.wfile.write(event)
            time.sleep(self.pause)

    def refuse(self, status: int, reason: str):
        print(f"{status}: {reason}", file=sys.stderr, flush=True)
        error = {"type": "invalid_request_error", "message": reason}
        self.answer(status, {"type": "error", "error": error})

    def answer(self, status: int, body: dict):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="A model that follows a script.")
    parser.add_argument("script", help="a JSON file; see examples/chat/README.md")
    parser.add_argument("--port", type=int, default=8321, help="0 takes a free one")
    parser.add_argument("--pause", type=float, default=0, help="seconds between the events of a stream")
    arguments = parser.parse_args()
    Handler.pause = arguments.pause
    with open(arguments.script, encoding="utf-8") as file:
        Handler.script = Script(json.load(file))
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


main()
