"""A plugin in Python: statistics of a CSV text, and ids for new records.

Every import stands here, at the top: modules are resolved when the component is built, and one that a function imports
later is not found.
"""

import csv
import io
import json
import statistics
import time
import uuid

import wit_world.exports
from componentize_py_types import Err
from wit_world.exports.tools import (
    Call,
    Content_Json,
    Example,
    Hints,
    Reply,
    Tool,
    ToolError_InvalidArguments,
    ToolError_UnknownTool,
)
from wit_world.imports import log, settings

MAX_IDS = 100
PURE = Hints.READ_ONLY | Hints.NON_DESTRUCTIVE | Hints.CLOSED_WORLD

CSV_SUMMARY = Tool(
    name="csv_summary",
    title="Summary of a table",
    description="Counts the rows of a CSV text with a header line, and gives for each column how many values it has, how "
    "many of them differ, and the least, mean and greatest if all of them are numbers.",
    input_schema=json.dumps({
        "type": "object",
        "properties": {
            "csv": {"type": "string", "description": "The text, whose first line names the columns"},
            "delimiter": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1,
                "default": ",",
                "description": "What separates values",
            },
        },
        "required": ["csv"],
        "additionalProperties": False,
    }),
    output_schema=json.dumps({
        "type": "object",
        "properties": {
            "rows": {"type": "integer"},
            "columns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "values": {"type": "integer"},
                        "distinct": {"type": "integer"},
                        "min": {"type": "number"},
                        "mean": {"type": "number"},
                        "max": {"type": "number"},
                    },
                    "required": ["name", "values", "distinct"],
                },
            },
        },
        "required": ["rows", "columns"],
    }),
    hints=PURE | Hints.IDEMPOTENT,
    max_duration_ms=None,
    examples=[
        Example("two columns", json.dumps({"csv": "city,people\nUlm,126000\nBonn,331000\n"}), False),
        Example("no text", "{}", True),
    ],
    extra=[],
)

NEW_IDS = Tool(
    name="new_ids",
    title="New ids",
    description="Makes random ids for new records. Each has the prefix that the operator set, if any.",
    input_schema=json.dumps({
        "type": "object",
        "properties": {
            "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_IDS,
                "default": 1,
                "description": "How many",
            },
        },
        "additionalProperties": False,
    }),
    output_schema=json.dumps({
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "string"}},
            "created_ms": {"type": "integer", "description": "Milliseconds since 1970"},
        },
        "required": ["ids", "created_ms"],
    }),
    hints=PURE,
    max_duration_ms=None,
    examples=[Example("three ids", '{"count": 3}', False), Example("none at all", '{"count": 0}', True)],
    extra=[],
)


def invalid(text: str) -> Err:
    """An error that the model reads and can act on."""
    return Err(ToolError_InvalidArguments(text))


def csv_summary(arguments: dict) -> dict:
    text = arguments.get("csv")
    delimiter = arguments.get("delimiter", ",")
    if not isinstance(text, str):
        raise invalid("csv is required, and must be a string")
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise invalid("delimiter must be one character, and no quote or line end")
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True) if row]
    except csv.Error as error:
        raise invalid(f"csv cannot be read: {error}")
    if not rows:
        raise invalid("csv has no header line")
    header, body = rows[0], rows[1:]
    for number, row in enumerate(body, 1):
        if len(row) != len(header):
            raise invalid(f"row {number} has {len(row)} values, and the header {len(header)}")
    # A setting that is no number is the operator's mistake and no model can mend it, so nothing catches what `int` raises:
    # the call ends, and the operator finds the traceback in the log.
    decimals = int(settings.get("decimals") or 3)
    columns = [summary(name, [row[at] for row in body], decimals) for at, name in enumerate(header)]
    return {"rows": len(body), "columns": columns}


def summary(name: str, cells: list[str], decimals: int) -> dict:
    values = [cell.strip() for cell in cells if cell.strip()]
    result = {"name": name, "values": len(values), "distinct": len(set(values))}
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        numbers = []
    # JSON has neither infinity nor NaN, which `float` takes.
    if numbers and all(abs(number) < 1e300 for number in numbers):
        result["min"] = min(numbers)
        result["mean"] = round(statistics.fmean(numbers), decimals)
        result["max"] = max(numbers)
    return result


def new_ids(arguments: dict) -> dict:
    count = arguments.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_IDS:
        raise invalid(f"count must be an integer from 1 to {MAX_IDS}")
    prefix = settings.get("prefix") or ""
    log.log(log.Level.DEBUG, f"making {count} ids")
    return {"ids": [f"{prefix}{uuid.uuid4()}" for _ in range(count)], "created_ms": time.time_ns() // 1_000_000}


TOOLS = {"csv_summary": (CSV_SUMMARY, csv_summary), "new_ids": (NEW_IDS, new_ids)}


class Tools(wit_world.exports.Tools):
    """What the component exports."""

    def list_tools(self) -> list[Tool]:
        return [tool for tool, _ in TOOLS.values()]

    def call_tool(self, call: Call) -> Reply:
        if call.tool not in TOOLS:
            raise Err(ToolError_UnknownTool(call.tool))
        _, run = TOOLS[call.tool]
        # The host made sure that this is the text of one JSON object.
        arguments = json.loads(call.arguments)
        unknown = arguments.keys() - json.loads(TOOLS[call.tool][0].input_schema)["properties"].keys()
        if unknown:
            raise invalid(f"unknown arguments: {', '.join(sorted(unknown))}")
        return Reply([Content_Json(json.dumps(run(arguments), allow_nan=False))], False, [])
