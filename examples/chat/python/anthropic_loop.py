"""The loop with Anthropic's messages."""

import anthropic
from toolhost_client import Toolhost
from toolhost_client.adapters import anthropic as adapter


def converse(toolhost: Toolhost, id: str, prompt: str | None, model: str, store) -> None:
    client, chat, messages = anthropic.Anthropic(), toolhost.chat(id), store.load()
    if prompt:
        messages.append({"role": "user", "content": prompt})
    while True:
        # Runs the open calls in parallel, each once: after a restart, a call gets its saved reply.
        messages += adapter.run(chat, messages)
        tools = chat.tools(adapter.format)
        with client.messages.stream(model=model, max_tokens=4096, messages=messages, tools=tools) as stream:
            for text in stream.text_stream:
                print(text, end="", flush=True)
        print()
        messages += adapter.turn(stream.get_final_message())
        # The calls are stored before they run.
        store.save(messages)
        if not adapter.calls_of(messages):
            return
