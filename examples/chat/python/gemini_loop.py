"""The loop with Gemini's generateContent."""

from google import genai
from toolhost_client import Toolhost
from toolhost_client.adapters import gemini as adapter


def converse(toolhost: Toolhost, id: str, prompt: str | None, model: str, store) -> None:
    client, chat, contents = genai.Client(), toolhost.chat(id), store.load()
    if prompt:
        contents.append({"role": "user", "parts": [{"text": prompt}]})
    while True:
        # Runs the open calls in parallel, each once: after a restart, a call gets its saved reply.
        contents += adapter.run(chat, contents)
        config, chunks = {"tools": chat.tools(adapter.format)}, []
        for chunk in client.models.generate_content_stream(model=model, contents=contents, config=config):
            chunks.append(chunk)
            print("".join(part.text or "" for part in chunk.parts or []), end="", flush=True)
        print()
        contents += adapter.turn(chunks)
        # The calls are stored before they run.
        store.save(contents)
        if not adapter.calls_of(contents):
            return
