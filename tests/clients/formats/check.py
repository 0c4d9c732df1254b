"""Checks lists of tools with the types of the SDKs that take them.

    python check.py openai FILE

Prints the names of the tools. A list that its SDK does not take is an exception.
"""

import copy
import json
import sys
from typing import get_type_hints

from pydantic import TypeAdapter

# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
KEYWORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
    "properties", "required", "type",
}


def typed(item, tools):
    """Validates each tool as a `TypedDict` of an SDK."""
    TypeAdapter(list[item]).validate_python(tools)
    for tool in tools:
        unknown = tool.keys() - get_type_hints(item).keys()
        assert not unknown, f"{unknown} is not in {item}"


def strict(schema):
    """Asserts that OpenAI's own helper, which makes schemas strict, changes nothing in this one."""
    from openai.lib._pydantic import _ensure_strict_json_schema

    ensured = _ensure_strict_json_schema(copy.deepcopy(schema), path=(), root=schema)
    assert ensured == schema, f"{ensured} is not {schema}"
    known(schema)


def known(schema):
    """Asserts that strict mode knows all keywords of a schema, which the helper does not look at."""
    assert schema.keys() <= KEYWORDS, f"strict mode does not know {schema.keys() - KEYWORDS}"
    parts = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    for part in [*parts, *([schema["items"]] if "items" in schema else [])]:
        known(part)


def openai(tools):
    from openai.types.chat import ChatCompletionFunctionToolParam

    typed(ChatCompletionFunctionToolParam, tools)
    for tool in tools:
        if tool["function"].get("strict"):
            strict(tool["function"]["parameters"])
    return [tool["function"]["name"] for tool in tools]


def openai_responses(tools):
    from openai.types.responses import FunctionToolParam

    typed(FunctionToolParam, tools)
    for tool in tools:
        if tool["strict"]:
            strict(tool["parameters"])
    return [tool["name"] for tool in tools]


def anthropic(tools):
    from anthropic.types import ToolParam

    typed(ToolParam, tools)
    return [tool["name"] for tool in tools]


def gemini(tools):
    from google.genai import types

    # This type takes no field that it does not know.
    config = types.GenerateContentConfig(tools=tools)
    return [function.name for tool in config.tools for function in tool.function_declarations]


def bedrock(tools):
    import botocore.session
    from botocore.validate import ParamValidator

    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    request = {
        "modelId": "model",
        "messages": [{"role": "user", "content": [{"text": "hello"}]}],
        "toolConfig": {"tools": tools},
    }
    report = ParamValidator().validate(request, service.operation_model("Converse").input_shape)
    assert not report.has_errors(), report.generate_report()
    return [tool["toolSpec"]["name"] for tool in tools]


def mcp(result):
    from mcp.types import ListToolsResult

    tools = ListToolsResult.model_validate(result).tools
    for tool in result["tools"]:
        for schema in filter(None, [tool["inputSchema"], tool.get("outputSchema")]):
            # ToolSchema of @modelcontextprotocol/sdk.
            assert schema["type"] == "object", f"{schema} is of no object"
            assert all(isinstance(one, dict) for one in schema.get("properties", {}).values()), schema
    return [tool.name for tool in tools]


if __name__ == "__main__":
    check = {
        "openai": openai,
        "openai-responses": openai_responses,
        "anthropic": anthropic,
        "gemini": gemini,
        "bedrock": bedrock,
        "mcp": mcp,
    }[sys.argv[1]]
    with open(sys.argv[2], encoding="utf-8") as file:
        print(json.dumps(check(json.load(file))))
