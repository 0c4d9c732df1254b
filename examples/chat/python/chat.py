"""A chat with tools: the model asks for calls, Toolhost runs them, and so on until the model has an answer.

Keys and addresses are in the variables that the SDKs read (OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY,
ANTHROPIC_BASE_URL) and in TOOLHOST_URL and TOOLHOST_TOKEN. Ctrl-C cancels the call that runs.
"""

import argparse
import itertools
import os
import signal
import sys
import uuid

from providers import PROVIDERS
from toolhost import Refused, Toolhost, text_of


def main() -> int:
    parser = argparse.ArgumentParser(description="A chat with tools.")
    parser.add_argument("prompt")
    parser.add_argument("--provider", choices=PROVIDERS, default="openai")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--chat", default=f"chat-{uuid.uuid4()}", help="the scope of processes, and of call ids")
    arguments = parser.parse_args()

    # Also where whoever started this ignores it, as shells do in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    url = os.environ.get("TOOLHOST_URL", "http://127.0.0.1:7411")
    toolhost = Toolhost(url, os.environ["TOOLHOST_TOKEN"], arguments.chat)
    provider = PROVIDERS[arguments.provider]
    chat = provider(arguments.model, toolhost.tools(provider.dialect))

    chat.user(arguments.prompt)
    for turn in itertools.count(1):
        text, calls = chat.ask()
        if text:
            print(text)
        if not calls:
            return 0
        # A chat server stores the turn and the id of the chat here, before anything runs: after a restart it asks for the same
        # calls again, and none runs twice.
        results = []
        for number, call in enumerate(calls):
            # The ids of models are no ids: some give each turn a `call_0`, some give one to two calls of a turn.
            id = f"{turn}.{number}"
            print(f"[{call.tool} {call.arguments}]", file=sys.stderr)
            try:
                reply = toolhost.call(id, call.tool, call.arguments)
                results.append((call, text_of(reply), reply["is_error"]))
            except Refused as refusal:
                # The provider wants a result for each call, and the model can make a better one.
                results.append((call, str(refusal), True))
            except KeyboardInterrupt:
                # Without this the call would go on: a client that goes away only detaches.
                toolhost.cancel(id)
                print(f"cancelled {id}", file=sys.stderr)
                return 130
        chat.results(results)


if __name__ == "__main__":
    sys.exit(main())
