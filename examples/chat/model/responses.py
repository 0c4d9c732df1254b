"""The requests and replies of OpenAI's responses."""

import itertools

from parts import arguments_of, images_of, names, pieces, sent, text_of, written
from script import Asked, Call, Said, Told


class Responses:
    """`POST /v1/responses` of OpenAI."""

    path, prefix, keys = r"/v1/responses", "call", ["authorization"]

    def read(self, request):
        tools = names(request.get("tools"), lambda tool: (tool["name"], tool["parameters"]))
        items = request["input"]
        conversation = []
        was_said = False
        for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
            kind, says = item.get("type", "message"), False
            if kind == "function_call_output":
                images = images_of(item["output"], lambda part: part.get("image_url"))
                conversation.append(Told(item["call_id"], text_of(item["output"]), images))
            elif kind == "function_call" or item.get("role") == "assistant":
                says = True
                if not was_said:
                    conversation.append(Said("", []))
                if kind == "function_call":
                    call = Call(item["call_id"], item["name"], arguments_of(item["arguments"]))
                    conversation[-1].calls.append(call)
            elif item.get("role") == "user":
                conversation.append(Asked(text_of(item["content"])))
            was_said = says
        return tools, conversation

    def write(self, request, said: Said):
        output = []
        if said.text:
            part = {"type": "output_text", "text": said.text, "annotations": []}
            message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
            output.append({**message, "content": [part]})
        for place, call in enumerate(said.calls):
            arguments = written(call.arguments)
            # The SDK wants items to have ids of their own, even if calls share one.
            item = {"type": "function_call", "id": f"fc_{place}_{call.id}", "status": "completed"}
            output.append({**item, "call_id": call.id, "name": call.tool, "arguments": arguments})
        response = {"id": f"resp_{len(request['input'])}", "object": "response", "created_at": 0, "status": "completed"}
        choice = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
        return {**response, **choice, "model": request["model"], "output": output}

    def stream(self, request, said: Said):
        numbers = itertools.count()

        def event(kind, **fields):
            return sent({"type": kind, "sequence_number": next(numbers), **fields}, kind)

        whole = self.write(request, said)
        yield event("response.created", response={**whole, "status": "in_progress", "output": []})
        for index, item in enumerate(whole["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            begun = {"content": []} if item["type"] == "message" else {"arguments": ""}
            yield event(
                "response.output_item.added", output_index=index, item={**item, **begun, "status": "in_progress"}
            )
            if item["type"] == "message":
                at["content_index"] = 0
                part = item["content"][0]
                yield event("response.content_part.added", **at, part={**part, "text": ""})
                for piece in pieces(part["text"]):
                    yield event("response.output_text.delta", **at, delta=piece, logprobs=[])
                yield event("response.output_text.done", **at, text=part["text"], logprobs=[])
                yield event("response.content_part.done", **at, part=part)
            else:
                for piece in pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **at, delta=piece)
                done = {"name": item["name"], "arguments": item["arguments"]}
                yield event("response.function_call_arguments.done", **at, **done)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=whole)
