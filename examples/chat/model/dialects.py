"""The requests and replies of three APIs of model providers, as far as a chat with tools needs them.

Each dialect reads a request into a conversation (`Said` and `Told`) and writes what the model says, whole or as a stream.
"""

import json

from script import Call, Refused, Said, Told


def need(holds: bool, reason: str):
    if not holds:
        raise Refused(reason)


def text_of(content) -> str:
    """The text of a message, which is a string or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content)


def names(tools, schema_of) -> set[str]:
    """The names of the tools, if all of them are in the shape of the dialect."""
    need(isinstance(tools, list) and tools, "the request has no tools")
    for tool in tools:
        try:
            name, schema = schema_of(tool)
        except (KeyError, TypeError):
            raise Refused(f"a tool has the shape of another provider: {json.dumps(tool)[:200]}") from None
        need(schema.get("type") == "object", f"the schema of {name} describes no object")
    return {schema_of(tool)[0] for tool in tools}


def pieces(text: str):
    """A text in pieces, as a stream brings it."""
    return [text[at : at + 12] for at in range(0, len(text), 12)]


def arguments_of(text: str) -> dict | str:
    """The arguments of a call: an object, or the text of a model that wrote none."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def written(arguments: dict | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class ChatCompletions:
    """`POST /v1/chat/completions` of OpenAI."""

    prefix, path, keys = "call", "/v1/chat/completions", ["authorization"]

    def read(self, request):
        tools = names(request.get("tools"), lambda tool: (tool["function"]["name"], tool["function"]["parameters"]))
        conversation = []
        for message in request["messages"]:
            if message["role"] == "assistant":
                calls = [
                    Call(call["id"], call["function"]["name"], arguments_of(call["function"]["arguments"]))
                    for call in message.get("tool_calls") or []
                ]
                conversation.append(Said(text_of(message.get("content")), calls))
            elif message["role"] == "tool":
                conversation.append(Told(message["tool_call_id"], text_of(message["content"])))
        return tools, conversation

    def message(self, said: Said):
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool, "arguments": written(call.arguments)},
            }
            for call in said.calls
        ]
        message = {"role": "assistant", "content": said.text or None, "refusal": None}
        return {**message, "tool_calls": calls} if calls else message

    def head(self, request, kind):
        return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": request["model"]}

    def write(self, request, said: Said):
        choice = {"index": 0, "message": self.message(said), "logprobs": None, "finish_reason": reason(said)}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return {**self.head(request, "chat.completion"), "choices": [choice], "usage": usage}

    def stream(self, request, said: Said):
        def chunk(delta, finish_reason=None):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            data = {**self.head(request, "chat.completion.chunk"), "choices": [choice]}
            return None, json.dumps(data)

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(said.text):
            yield chunk({"content": piece})
        for index, call in enumerate(self.message(said).get("tool_calls", [])):
            begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
            yield chunk({"tool_calls": [begun]})
            for piece in pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, reason(said))
        yield None, "[DONE]"


def reason(said: Said) -> str:
    return "tool_calls" if said.calls else "stop"


class Responses:
    """`POST /v1/responses` of OpenAI, without streaming."""

    prefix, path, keys = "call", "/v1/responses", ["authorization"]
    stream = None

    def read(self, request):
        tools = names(request.get("tools"), lambda tool: (tool["name"], tool["parameters"]))
        items = request["input"]
        conversation = []
        was_said = False
        for item in [] if isinstance(items, str) else items:
            kind, says = item.get("type", "message"), False
            if kind == "function_call_output":
                conversation.append(Told(item["call_id"], text_of(item["output"])))
            elif kind == "function_call" or item.get("role") == "assistant":
                says = True
                if not was_said:
                    conversation.append(Said("", []))
                if kind == "function_call":
                    call = Call(item["call_id"], item["name"], arguments_of(item["arguments"]))
                    conversation[-1].calls.append(call)
            was_said = says
        return tools, conversation

    def write(self, request, said: Said):
        output = []
        if said.text:
            part = {"type": "output_text", "text": said.text, "annotations": []}
            message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
            output.append({**message, "content": [part]})
        for call in said.calls:
            arguments = written(call.arguments)
            item = {"type": "function_call", "id": f"fc_{call.id}", "status": "completed"}
            output.append({**item, "call_id": call.id, "name": call.tool, "arguments": arguments})
        response = {"id": "resp_1", "object": "response", "created_at": 0, "status": "completed"}
        choice = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
        return {**response, **choice, "model": request["model"], "output": output}


class Messages:
    """`POST /v1/messages` of Anthropic."""

    prefix, path, keys = "toolu", "/v1/messages", ["x-api-key", "authorization"]

    def read(self, request):
        need(isinstance(request.get("max_tokens"), int), "the request has no max_tokens")
        tools = names(request.get("tools"), lambda tool: (tool["name"], tool["input_schema"]))
        conversation = []
        for message in request["messages"]:
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "assistant":
                calls = [Call(part["id"], part["name"], part["input"]) for part in parts if part["type"] == "tool_use"]
                texts = [part for part in parts if part["type"] == "text"]
                conversation.append(Said(text_of(texts), calls))
            else:
                results = [part for part in parts if part["type"] == "tool_result"]
                conversation += [Told(part["tool_use_id"], text_of(part.get("content"))) for part in results]
        return tools, conversation

    def parts(self, said: Said):
        for call in said.calls:
            need(isinstance(call.arguments, dict), f"the arguments of {call.tool} must be an object for this provider")
        text = [{"type": "text", "text": said.text}] if said.text else []
        calls = [{"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments} for call in said.calls]
        return text + calls

    def write(self, request, said: Said):
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"]}
        stop = {"stop_reason": "tool_use" if said.calls else "end_turn", "stop_sequence": None}
        usage = {"input_tokens": 0, "output_tokens": 0}
        return {**message, "content": self.parts(said), **stop, "usage": usage}

    def stream(self, request, said: Said):
        def event(kind, **fields):
            return kind, json.dumps({"type": kind, **fields})

        whole = self.write(request, said)
        yield event("message_start", message={**whole, "content": [], "stop_reason": None})
        for index, part in enumerate(whole["content"]):
            if part["type"] == "text":
                begun, delta, text = {**part, "text": ""}, "text_delta", part["text"]
            else:
                begun, delta, text = {**part, "input": {}}, "input_json_delta", json.dumps(part["input"])
            field = "text" if delta == "text_delta" else "partial_json"
            yield event("content_block_start", index=index, content_block=begun)
            for piece in pieces(text):
                yield event("content_block_delta", index=index, delta={"type": delta, field: piece})
            yield event("content_block_stop", index=index)
        end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield event("message_delta", delta=end, usage={"output_tokens": 0})
        yield event("message_stop")


DIALECTS = {dialect.path: dialect for dialect in (ChatCompletions(), Responses(), Messages())}
