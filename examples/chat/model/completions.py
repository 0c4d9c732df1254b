"""The requests and replies of OpenAI's chat completions."""

from parts import arguments_of, images_of, names, pieces, sent, text_of, written
from script import Asked, Call, Said, Told


class ChatCompletions:
    """`POST /v1/chat/completions` of OpenAI."""

    path, prefix, keys = r"/v1/chat/completions", "call", ["authorization"]

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
            elif message["role"] == "user":
                images = images_of(message["content"], lambda part: part.get("image_url", {}).get("url"))
                if images and conversation and isinstance(conversation[-1], Told):
                    # A message of the user has the images of the results before it.
                    conversation[-1].images += images
                else:
                    conversation.append(Asked(text_of(message["content"])))
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
        # LangGraph replaces a message by one with the same id.
        return {"id": f"chatcmpl-{len(request['messages'])}", "object": kind, "created": 0, "model": request["model"]}

    def write(self, request, said: Said):
        choice = {"index": 0, "message": self.message(said), "logprobs": None, "finish_reason": reason(said)}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return {**self.head(request, "chat.completion"), "choices": [choice], "usage": usage}

    def stream(self, request, said: Said):
        def chunk(delta, finish_reason=None):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            return sent({**self.head(request, "chat.completion.chunk"), "choices": [choice]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(said.text):
            yield chunk({"content": piece})
        for index, call in enumerate(self.message(said).get("tool_calls", [])):
            begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
            yield chunk({"tool_calls": [begun]})
            for piece in pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, reason(said))
        yield sent("[DONE]")


def reason(said: Said) -> str:
    return "tool_calls" if said.calls else "stop"
