"""The three APIs of model providers, each as the same few steps of a chat."""

from dataclasses import dataclass

import anthropic
import openai


@dataclass
class Call:
    """A tool that the model asks for.

    The arguments are what the model wrote: Toolhost reads their text, and tells the model what is wrong with it.
    """

    id: str
    tool: str
    arguments: str | dict


class ChatCompletions:
    """OpenAI's chat completions."""

    dialect = "openai"

    def __init__(self, model: str, tools: list):
        self.client, self.model, self.tools, self.messages = openai.OpenAI(), model, tools, []

    def user(self, text: str):
        self.messages.append({"role": "user", "content": text})

    def ask(self) -> tuple[str, list[Call]]:
        reply = self.client.chat.completions.create(model=self.model, messages=self.messages, tools=self.tools)
        message = reply.choices[0].message
        self.messages.append(message.to_dict())
        calls = [Call(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
        return message.content or "", calls

    def results(self, results: list[tuple[Call, str, bool]]):
        self.messages += [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text, _ in results]


class Responses:
    """OpenAI's responses."""

    dialect = "openai-responses"

    def __init__(self, model: str, tools: list):
        self.client, self.model, self.tools, self.items = openai.OpenAI(), model, tools, []

    def user(self, text: str):
        self.items.append({"role": "user", "content": text})

    def ask(self) -> tuple[str, list[Call]]:
        reply = self.client.responses.create(model=self.model, input=self.items, tools=self.tools, store=False)
        self.items += [item.to_dict() for item in reply.output]
        calls = [
            Call(item.call_id, item.name, item.arguments) for item in reply.output if item.type == "function_call"
        ]
        return reply.output_text, calls

    def results(self, results: list[tuple[Call, str, bool]]):
        self.items += [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text, _ in results]


class Messages:
    """Anthropic's messages, as a stream."""

    dialect = "anthropic"

    def __init__(self, model: str, tools: list):
        self.client, self.model, self.tools, self.messages = anthropic.Anthropic(), model, tools, []

    def user(self, text: str):
        self.messages.append({"role": "user", "content": text})

    def ask(self) -> tuple[str, list[Call]]:
        request = {"model": self.model, "max_tokens": 4096, "messages": self.messages, "tools": self.tools}
        with self.client.messages.stream(**request) as stream:
            message = stream.get_final_message()
        self.messages.append({"role": "assistant", "content": [part.to_dict() for part in message.content]})
        calls = [Call(part.id, part.name, part.input) for part in message.content if part.type == "tool_use"]
        return "".join(part.text for part in message.content if part.type == "text"), calls

    def results(self, results: list[tuple[Call, str, bool]]):
        content = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": is_error}
            for call, text, is_error in results
        ]
        self.messages.append({"role": "user", "content": content})


PROVIDERS = {provider.dialect: provider for provider in (ChatCompletions, Responses, Messages)}
