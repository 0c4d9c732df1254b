"""A chat with tools: the model asks for calls, Toolhost runs them, and so on until the model has an answer.

    chat.py [--provider NAME] [--model NAME] [--chat ID] [--messages FILE] [PROMPT]

The loops are in the files beside this one. Keys and addresses are in the variables that the SDKs read, and in
TOOLHOST_URL and TOOLHOST_TOKEN. Ctrl-C cancels the calls that run. With --messages, a chat goes on where it stood:
without a prompt if it was interrupted.
"""

import argparse
import importlib
import json
import os
import signal
import sys
import uuid
from pathlib import Path

from toolhost_client import Toolhost

PROVIDERS = ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]


class Store:
    """The messages of a chat, in a file or in memory. A chat server has a database in its place."""

    def __init__(self, path: Path | None):
        self.path, self.messages = path, []

    def load(self) -> list:
        return json.loads(self.path.read_text()) if self.path and self.path.exists() else self.messages

    def save(self, messages: list) -> None:
        self.messages = messages
        if self.path:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(messages))
            os.replace(new, self.path)


def main() -> int:
    parser = argparse.ArgumentParser(description="A chat with tools.")
    parser.add_argument("prompt", nargs="?")
    parser.add_argument("--provider", choices=PROVIDERS, default="openai")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--chat", default=f"chat-{uuid.uuid4()}", help="the scope of processes, and of call ids")
    parser.add_argument("--messages", type=Path, help="the file in which the messages are stored")
    arguments = parser.parse_args()

    # Shells ignore SIGINT for programs in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loop = importlib.import_module(f"{arguments.provider.replace('-', '_')}_loop")
    store = Store(arguments.messages)
    try:
        with Toolhost() as toolhost:
            loop.converse(toolhost, arguments.chat, arguments.prompt, arguments.model, store)
    except KeyboardInterrupt:
        for call in loop.adapter.calls_of(store.load()):
            print(f"cancelled {call.id}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
