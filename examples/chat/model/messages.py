"""The requests and replies of Anthropic's messages."""

import json

from parts import images_of, names, need, object_of, pieces, sent, text_of
from script import Asked, Call, Said, Told


class Messages:
    """`POST /v1/messages` of Anthropic."""

    path, prefix, keys = r"/v1/messages", "toolu", ["x-api-key", "authorization"]

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
                conversation += [self.told(part) for part in results]
                asked = text_of([part for part in parts if part["type"] == "text"])
                conversation += [Asked(asked)] if asked else []
        return tools, conversation

    def told(self, result):
        content = result.get("content")
        url_of = lambda part: part["type"] == "image" and "data:{media_type};base64,{data}".format(**part["source"])  # noqa: E731
        return Told(result["tool_use_id"], text_of(content), images_of(content, url_of), result.get("is_error", False))

    def parts(self, said: Said):
        text = [{"type": "text", "text": said.text}] if said.text else []
        calls = [
            {"type": "tool_use", "id": call.id, "name": call.tool, "input": object_of(call)} for call in said.calls
        ]
        return text + calls

    def write(self, request, said: Said):
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"]}
        stop = {"stop_reason": "tool_use" if said.calls else "end_turn", "stop_sequence": None}
        usage = {"input_tokens": 0, "output_tokens": 0}
        return {**message, "content": self.parts(said), **stop, "usage": usage}

    def stream(self, request, said: Said):
        def event(kind, **fields):
            return sent({"type": kind, **fields}, kind)

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
