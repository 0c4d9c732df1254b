"""The loop with OpenAI's chat completions."""

import openai
from toolhost_client import Toolhost
from toolhost_client.adapters import openai as adapter


def converse(toolhost: Toolhost, id: str, prompt: str | None, model: str, store) -> None:
    client, chat, messages = openai.OpenAI(), toolhost.chat(id), store.load()
    if prompt:
        messages.append({"role": "user", "content": prompt})
    while True:
        # Runs the open calls in parallel, each once: after a restart, a call gets its saved reply.
        messages += adapter.run(chat, messages)
        tools = chat.tools(adapter.format)
        with client.chat.completions.stream(model=model, messages=messages, tools=tools) as stream:
            for event in stream:
                if event.type == "content.delta":
                    print(event.delta, end="", flush=True)
        print()
        messages += adapter.turn(stream.get_final_completion())
        # The calls are stored before they run.
        store.save(messages)
        if not adapter.calls_of(messages):
            return
