"""The encoding of Amazon's event streams: frames with headers, a payload and checksums."""

import json
import struct
import zlib


def frame(event: str, payload: dict) -> bytes:
    """Returns an event as the SDKs of AWS read it."""
    headers = {":message-type": "event", ":event-type": event, ":content-type": "application/json"}
    head = b"".join(header(name, value) for name, value in headers.items())
    body = json.dumps(payload).encode()
    # The prelude and the checksums of the prelude and of the whole have 4 bytes for each number.
    prelude = struct.pack("!II", len(head) + len(body) + 16, len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + body
    return message + struct.pack("!I", zlib.crc32(message))


def header(name: str, value: str) -> bytes:
    """Returns a header with a text, which is of type 7."""
    return struct.pack("!B", len(name)) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
