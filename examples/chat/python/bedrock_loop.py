"""The loop with Bedrock's Converse."""

import boto3
from toolhost_client import Toolhost
from toolhost_client.adapters import bedrock as adapter


def converse(toolhost: Toolhost, id: str, prompt: str | None, model: str, store) -> None:
    client, chat, messages = boto3.client("bedrock-runtime"), toolhost.chat(id), adapter.loaded(store.load())
    if prompt:
        messages.append({"role": "user", "content": [{"text": prompt}]})
    while True:
        # Runs the open calls in parallel, each once: after a restart, a call gets its saved reply.
        messages += adapter.run(chat, messages)
        config, events = {"tools": chat.tools(adapter.format)}, []
        for event in client.converse_stream(modelId=model, messages=messages, toolConfig=config)["stream"]:
            events.append(event)
            print(event.get("contentBlockDelta", {}).get("delta", {}).get("text", ""), end="", flush=True)
        print()
        messages += adapter.turn(events)
        # The calls are stored before they run.
        store.save(adapter.stored(messages))
        if not adapter.calls_of(messages):
            return
