"""The requests and replies of Gemini's generateContent."""

import base64
import re

from parts import image, names, need, object_of, pieces, sent, text_of
from script import Asked, Call, Said, Told

# Gemini 3 refuses a call that comes back without the signature that came with it.
SIGNATURE = base64.b64encode(b"signature").decode()


class GenerateContent:
    """`POST /v1(beta)?/models/{model}:generateContent` of Gemini, and `:streamGenerateContent`."""

    path = r"/v1(beta)?/models/[^/]+:(stream)?[gG]enerateContent"
    prefix, keys = "gemini", ["x-goog-api-key"]

    def read(self, request):
        declared = [function for tool in request.get("tools") or [] for function in tool["functionDeclarations"]]
        tools = names(declared, lambda tool: (tool["name"], field(tool, "parametersJsonSchema")))
        conversation = []
        for content in request["contents"]:
            parts = content["parts"]
            if content.get("role") == "model":
                calls = [part["functionCall"] for part in parts if "functionCall" in part]
                for part in parts:
                    wanted = "functionCall" not in part or part.get("thoughtSignature") == SIGNATURE
                    need(wanted, "the thoughtSignature of a call has not come back")
                calls = [Call(call["id"], call["name"], call.get("args") or {}) for call in calls]
                conversation.append(Said("".join(part.get("text", "") for part in parts), calls))
            else:
                results = [part["functionResponse"] for part in parts if "functionResponse" in part]
                conversation += [self.told(result) for result in results]
                asked = text_of(parts)
                conversation += [Asked(asked)] if asked else []
        return tools, conversation

    def told(self, result):
        media = [field(part, "inlineData") for part in result.get("parts") or []]
        response = result["response"]
        text = response.get("output", response.get("error"))
        need(isinstance(text, str), f"a functionResponse has neither output nor error: {response}")
        # The SDKs write base64 for URLs.
        encoded = [(field(one, "mimeType"), one["data"].replace("-", "+").replace("_", "/")) for one in media]
        return Told(result["id"], text, [image(*one) for one in encoded], "error" in response)

    def parts(self, said: Said):
        text = [{"text": said.text}] if said.text else []
        return text + [
            {
                "functionCall": {"id": call.id, "name": call.tool, "args": object_of(call)},
                "thoughtSignature": SIGNATURE,
            }
            for call in said.calls
        ]

    def chunk(self, parts, last=True):
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        return {"candidates": [{**candidate, "finishReason": "STOP"} if last else candidate], "responseId": "r1"}

    def write(self, request, said: Said):
        return self.chunk(self.parts(said))

    def stream(self, request, said: Said):
        for piece in pieces(said.text):
            yield sent(self.chunk([{"text": piece}], last=False))
        yield sent(self.chunk(self.parts(Said("", said.calls))))


def field(value: dict, name: str):
    """Returns a field that the SDKs write in either of two ways, such as `mimeType` and `mime_type`."""
    return value[name] if name in value else value[re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)]
