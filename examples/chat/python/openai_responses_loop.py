"""The loop with OpenAI's responses."""

import openai
from toolhost_client import Toolhost
from toolhost_client.adapters import openai_responses as adapter


def converse(toolhost: Toolhost, id: str, prompt: str | None, model: str, store) -> None:
    client, chat, items = openai.OpenAI(), toolhost.chat(id), store.load()
    if prompt:
        items.append({"role": "user", "content": prompt})
    while True:
        # Runs the open calls in parallel, each once: after a restart, a call gets its saved reply.
        items += adapter.run(chat, items)
        tools, response = chat.tools(adapter.format), None
        for event in client.responses.create(model=model, input=items, tools=tools, store=False, stream=True):
            if event.type == "response.output_text.delta":
                print(event.delta, end="", flush=True)
            # The last event that has a response has the whole of it.
            response = getattr(event, "response", None) or response
        print()
        items += adapter.turn(response)
        # The calls are stored before they run.
        store.save(items)
        if not adapter.calls_of(items):
            return
