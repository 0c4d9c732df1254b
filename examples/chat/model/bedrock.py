"""The requests and replies of Bedrock's Converse."""

import json

from eventstream import frame
from parts import image, names, object_of, pieces, text_of
from script import Asked, Call, Said, Told


class Converse:
    """`POST /model/{model}/converse` of Bedrock, and `converse-stream`."""

    path = r"/model/[^/]+/converse(-stream)?"
    prefix, keys = "tooluse", ["authorization"]
    stream_type = "application/vnd.amazon.eventstream"

    def read(self, request):
        declared = [tool["toolSpec"] for tool in request["toolConfig"]["tools"]]
        tools = names(declared, lambda tool: (tool["name"], tool["inputSchema"]["json"]))
        conversation = []
        for message in request["messages"]:
            parts = message["content"]
            if message["role"] == "assistant":
                calls = [part["toolUse"] for part in parts if "toolUse" in part]
                calls = [Call(call["toolUseId"], call["name"], call["input"]) for call in calls]
                conversation.append(Said("".join(part.get("text", "") for part in parts), calls))
            else:
                conversation += [self.told(part["toolResult"]) for part in parts if "toolResult" in part]
                asked = text_of(parts)
                conversation += [Asked(asked)] if asked else []
        return tools, conversation

    def told(self, result):
        text = "".join(part.get("text", "") for part in result["content"])
        media = [part["image"] for part in result["content"] if "image" in part]
        images = [image(f"image/{one['format']}", one["source"]["bytes"]) for one in media]
        return Told(result["toolUseId"], text, images, result.get("status") == "error")

    def write(self, request, said: Said):
        content = [{"text": said.text}] if said.text else []
        content += [{"toolUse": use(call)} for call in said.calls]
        message = {"role": "assistant", "content": content}
        usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        return {"output": {"message": message}, "stopReason": stop(said), "usage": usage, "metrics": {"latencyMs": 1}}

    def stream(self, request, said: Said):
        yield frame("messageStart", {"role": "assistant"})
        for piece in pieces(said.text):
            yield frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
        if said.text:
            yield frame("contentBlockStop", {"contentBlockIndex": 0})
        for index, call in enumerate(said.calls, start=bool(said.text)):
            begun = use(call)
            text = json.dumps(begun.pop("input"))
            yield frame("contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": begun}})
            for piece in pieces(text):
                yield frame("contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}})
            yield frame("contentBlockStop", {"contentBlockIndex": index})
        yield frame("messageStop", {"stopReason": stop(said)})


def use(call: Call):
    return {"toolUseId": call.id, "name": call.tool, "input": object_of(call)}


def stop(said: Said) -> str:
    return "tool_use" if said.calls else "end_turn"
