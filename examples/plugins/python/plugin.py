"""A plugin in Python: statistics of a CSV text, and ids for new records.

Every import stands here, at the top: modules are resolved when the component is built, and one that a function imports
later is not found.
"""

import csv
import io
import statistics
import time
import uuid
from dataclasses import dataclass
from typing import Annotated, NotRequired, TypedDict

from toolhost import Example, InvalidArguments, Length, Range, log, settings, tool


class Column(TypedDict):
    name: str
    values: int
    distinct: int
    min: NotRequired[float]
    mean: NotRequired[float]
    max: NotRequired[float]


@dataclass
class Summary:
    rows: int
    columns: list[Column]


@dataclass
class NewIds:
    """created_ms: Milliseconds since 1970."""

    ids: list[str]
    created_ms: int


@tool(
    title="Summary of a table",
    read_only=True,
    idempotent=True,
    closed_world=True,
    examples=[Example("two columns", {"csv": "city,people\nUlm,126000\nBonn,331000\n"}), Example("no text", {}, is_error=True)],
)
def csv_summary(csv: str, delimiter: Annotated[str, Length(1, 1)] = ",") -> Summary:
    """Counts the rows of a CSV text with a header line, and gives for each column how many values it has, how many of them
    differ, and the least, mean and greatest if all of them are numbers.

    csv: The text, whose first line names the columns.
    delimiter: What separates values.
    """
    header, body = read(csv, delimiter)
    # A setting that is no number is the operator's mistake and no model can mend it, so nothing catches what `int` raises:
    # the call ends, and the operator finds the traceback in the log.
    decimals = int(settings.get("decimals", "3"))
    columns = [summary(name, [row[at] for row in body], decimals) for at, name in enumerate(header)]
    return Summary(len(body), columns)


def read(text: str, delimiter: str) -> tuple[list[str], list[list[str]]]:
    if delimiter in '"\r\n':
        raise InvalidArguments("delimiter must be no quote and no line end")
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True) if row]
    except csv.Error as error:
        raise InvalidArguments(f"csv cannot be read: {error}")
    if not rows:
        raise InvalidArguments("csv has no header line")
    header, body = rows[0], rows[1:]
    for number, row in enumerate(body, 1):
        if len(row) != len(header):
            raise InvalidArguments(f"row {number} has {len(row)} values, and the header {len(header)}")
    return header, body


def summary(name: str, cells: list[str], decimals: int) -> Column:
    values = [cell.strip() for cell in cells if cell.strip()]
    result: Column = {"name": name, "values": len(values), "distinct": len(set(values))}
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


@tool(
    title="New ids",
    read_only=True,
    closed_world=True,
    examples=[Example("three ids", {"count": 3}), Example("none at all", {"count": 0}, is_error=True)],
)
def new_ids(count: Annotated[int, "How many.", Range(1, 100)] = 1) -> NewIds:
    """Makes random ids for new records. Each has the prefix that the operator set, if any."""
    prefix = settings.get("prefix", "")
    log.debug(f"making {count} ids")
    return NewIds([f"{prefix}{uuid.uuid4()}" for _ in range(count)], time.time_ns() // 1_000_000)
