"""The adapters of providers, on recorded messages: open calls, and the messages for their outcomes."""

from __future__ import annotations

import base64
import json
from types import ModuleType
from typing import Any

import pytest

from toolhost_client import Audio, Call, Document, Image, Json, Refused, Reply, Text
from toolhost_client.adapters import anthropic, bedrock, gemini, openai, openai_responses

PNG = base64.b64encode(b"\xff\xfe\xfa a picture").decode()
D = f"data:image/png;base64,{PNG}"
ARGUMENTS = {"command": "date"}
TEXT = json.dumps(ARGUMENTS)


def chat_call(id: str) -> Any:
    return {"id": id, "type": "function", "function": {"name": "execute", "arguments": TEXT}}


def block(**value: Any) -> Any:
    return {"role": "assistant", "content": [{"text": "hm"}, *({"toolUse": use} for use in value["uses"])]}


# A question, a turn with two calls that share an id, their results, and a turn with two calls, of which the first has a result.
CHAT = [
    {"role": "system", "content": "…"},
    {"role": "user", "content": "?"},
    {"role": "assistant", "content": "hm", "tool_calls": [chat_call("x"), chat_call("x")]},
    {"role": "tool", "tool_call_id": "x", "content": "1"},
    {"role": "tool", "tool_call_id": "x", "content": "2"},
    {"role": "assistant", "content": None, "tool_calls": [chat_call("x"), chat_call("x")]},
    {"role": "tool", "tool_call_id": "x", "content": "3"},
]
ITEM = {"type": "function_call", "call_id": "x", "name": "execute", "arguments": TEXT}
OUTPUT = {"type": "function_call_output", "call_id": "x", "output": "1"}
ITEMS = [
    {"role": "user", "content": "?"},
    {"type": "reasoning", "id": "r", "summary": []},
    {"type": "message", "role": "assistant", "content": []},
    *[ITEM, ITEM, OUTPUT, OUTPUT],
    *[ITEM, ITEM, OUTPUT],
]
USE = {"type": "tool_use", "id": "x", "name": "execute", "input": ARGUMENTS}
RESULT = {"type": "tool_result", "tool_use_id": "x", "content": "1"}
MESSAGES = [
    {"role": "user", "content": "?"},
    {"role": "assistant", "content": [{"type": "text", "text": "hm"}, USE, USE]},
    {"role": "user", "content": [RESULT, RESULT]},
    {"role": "assistant", "content": [USE, USE]},
    {"role": "user", "content": [RESULT]},
]
FUNCTION = {"functionCall": {"id": "x", "name": "execute", "args": ARGUMENTS}}
RESPONSE = {"functionResponse": {"id": "x", "name": "execute", "response": {"output": "1"}}}
CONTENTS = [
    {"role": "user", "parts": [{"text": "?"}]},
    {"role": "model", "parts": [{"text": "hm"}, FUNCTION, FUNCTION]},
    {"role": "user", "parts": [RESPONSE, RESPONSE]},
    {"role": "model", "parts": [FUNCTION, FUNCTION]},
    {"role": "user", "parts": [RESPONSE]},
]
TOOL_USE = {"toolUseId": "x", "name": "execute", "input": ARGUMENTS}
TOOL_RESULT = {"toolResult": {"toolUseId": "x", "content": [{"text": "1"}], "status": "success"}}
CONVERSE = [
    {"role": "user", "content": [{"text": "?"}]},
    block(uses=[TOOL_USE, TOOL_USE]),
    {"role": "user", "content": [TOOL_RESULT, TOOL_RESULT]},
    block(uses=[TOOL_USE, TOOL_USE]),
    {"role": "user", "content": [TOOL_RESULT]},
]
RECORDED = [
    (openai, CHAT, TEXT),
    (openai_responses, ITEMS, TEXT),
    (anthropic, MESSAGES, ARGUMENTS),
    (gemini, CONTENTS, ARGUMENTS),
    (bedrock, CONVERSE, ARGUMENTS),
]


@pytest.mark.parametrize(("adapter", "messages", "arguments"), RECORDED)
def test_open_calls_are_named_by_their_position(adapter: ModuleType, messages: list[Any], arguments: Any) -> None:
    open_call = Call("2.1", "execute", arguments, "x")
    assert adapter.calls_of(messages) == [open_call]
    assert adapter.calls_of(messages, "40b") == [Call("40b.1", "execute", arguments, "x")]
    # The model has said its turn, and nothing has run yet.
    assert [call.id for call in adapter.calls_of(messages[:-1])] == ["2.0", "2.1"]
    answered = [*messages, *adapter.results([open_call], [reply(Text("4"))])]
    assert adapter.calls_of(answered) == []
    assert adapter.calls_of(messages[:1]) == adapter.calls_of([]) == []
    assert json.loads(json.dumps(answered)) == answered


def reply(*content: Any, is_error: bool = False) -> Reply:
    return Reply("2.0", "read_file", "finished", is_error, content)


CALLS = [Call("2.0", "read_file", {}, "a"), Call("2.1", "execute", {}, "b")]
# A result with images, of which providers do not take each, and a refusal.
OUTCOMES = [
    reply(Json({"ä": 1}), Image("image/png", PNG), Text(""), Image("image/svg+xml", PNG), Audio("audio/wav", PNG)),
    Refused("gone", 410, "too late"),
]
REFUSED = "gone: too late\nThe call may have run. Look at its effects before you repeat it."
AFTER = "[image, image/svg+xml]\n[audio, audio/wav]"


def test_an_error_has_no_images_which_anthropic_would_refuse() -> None:
    failed = reply(Text("no"), Image("image/png", PNG), is_error=True)
    [message] = anthropic.results([CALLS[0]], [failed])
    text = "no\n[image, image/png]"
    [result] = message["content"]
    assert (result["content"], result["is_error"]) == ([{"type": "text", "text": text}], True)


def test_results_of_chat_completions() -> None:
    assert openai.results(CALLS, OUTCOMES) == [
        {"role": "tool", "tool_call_id": "a", "content": '{"ä": 1}\n\n' + AFTER},
        {"role": "tool", "tool_call_id": "b", "content": REFUSED},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Images in the result of read_file (a):"},
                {"type": "image_url", "image_url": {"url": D}},
            ],
        },
    ]


def test_results_of_responses() -> None:
    assert openai_responses.results(CALLS, OUTCOMES) == [
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [
                {"type": "input_text", "text": '{"ä": 1}'},
                {"type": "input_image", "image_url": D},
                {"type": "input_text", "text": "\n" + AFTER},
            ],
        },
        {"type": "function_call_output", "call_id": "b", "output": REFUSED},
    ]


def test_results_of_anthropic() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    text, after = {"type": "text", "text": '{"ä": 1}'}, {"type": "text", "text": "\n" + AFTER}
    refused = [{"type": "text", "text": REFUSED}]
    assert anthropic.results(CALLS, OUTCOMES) == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [text, image, after], "is_error": False},
                {"type": "tool_result", "tool_use_id": "b", "content": refused, "is_error": True},
            ],
        }
    ]
    assert anthropic.results([], []) == []


def test_results_of_gemini() -> None:
    [content] = gemini.results([CALLS[0], Call("2.1", "execute", {}, "execute")], OUTCOMES)
    assert content["parts"] == [
        {
            "functionResponse": {
                "id": "a",
                "name": "read_file",
                "response": {"output": '{"ä": 1}\n\n' + AFTER},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
            }
        },
        # A call without an id.
        {"functionResponse": {"name": "execute", "response": {"error": REFUSED}}},
    ]
    from google.genai import types

    read = types.Content.model_validate(content)
    assert read.parts and read.parts[0].function_response and read.parts[0].function_response.parts
    blob = read.parts[0].function_response.parts[0].inline_data
    assert blob and blob.data == base64.b64decode(PNG)


def test_results_of_bedrock() -> None:
    messages = bedrock.results(CALLS, OUTCOMES)
    image = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PNG)}}}
    assert [block["toolResult"] for block in messages[0]["content"]] == [
        {"toolUseId": "a", "content": [{"text": '{"ä": 1}'}, image, {"text": "\n" + AFTER}], "status": "success"},
        {"toolUseId": "b", "content": [{"text": REFUSED}], "status": "error"},
    ]
    import botocore.session
    from botocore.validate import ParamValidator

    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    request = {"modelId": "m", "messages": messages}
    report = ParamValidator().validate(request, service.operation_model("Converse").input_shape)
    assert not report.has_errors(), report.generate_report()
    # A store has JSON.
    stored = bedrock.stored(messages)
    assert json.loads(json.dumps(stored)) == stored
    assert bedrock.loaded(stored) == messages


def test_a_stream_of_bedrock_is_put_together() -> None:
    def delta(index: int, **value: Any) -> Any:
        return {"contentBlockDelta": {"contentBlockIndex": index, "delta": value}}

    events = [
        {"messageStart": {"role": "assistant"}},
        delta(0, reasoningContent={"text": "I "}),
        delta(0, reasoningContent={"text": "think"}),
        delta(0, reasoningContent={"signature": "s"}),
        delta(1, text="hel"),
        delta(1, text="lo"),
        {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "x", "name": "list"}}}},
        {"contentBlockStart": {"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "y", "name": "execute"}}}},
        delta(3, toolUse={"input": '{"a":'}),
        delta(3, toolUse={"input": " 1}"}),
        {"messageStop": {"stopReason": "tool_use"}},
    ]
    assert bedrock.turn(iter(events)) == [
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "I think", "signature": "s"}}},
                {"text": "hello"},
                {"toolUse": {"toolUseId": "x", "name": "list", "input": {}}},
                {"toolUse": {"toolUseId": "y", "name": "execute", "input": {"a": 1}}},
            ],
        }
    ]


def test_a_document_is_named() -> None:
    outcome = reply(Document("file:///a.pdf", "application/pdf", PNG))
    assert openai_responses.results(CALLS[:1], [outcome])[0]["output"] == "[file:///a.pdf]"
