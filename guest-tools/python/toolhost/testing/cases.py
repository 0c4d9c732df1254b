"""Cases of a JSON file, as `toolhost plugin test` runs them through the component."""

import json
from pathlib import Path

from .. import reply as replies
from ..errors import ToolError
from ..host import native
from ..tool import find


def run_cases(path: str | Path, **surroundings) -> int:
    """Runs each case of a file, and returns how many there are. `surroundings` are given to all of them.

    Raises `AssertionError` with every case that differs, and `ValueError` for a file that is none of cases.
    """
    cases = json.loads(Path(path).read_text(encoding="utf-8")).get("cases")
    if not isinstance(cases, list) or not cases:
        raise ValueError(f'{path}: there must be cases: {{"cases": [{{"name": …, "tool": …, "arguments": …}}]}}')
    problems = [f"{case['name']}: {problem}" for case in cases for problem in compare(case, surroundings)]
    assert not problems, "\n".join(problems)
    return len(cases)


def compare(case: dict, surroundings: dict):
    """Yields how the outcome of a case differs from what it expects."""
    outcome = run(case, surroundings)
    expected = [key for key in ("reply", "text", "error") if key in case]
    if len(expected) != 1:
        yield "it must have one of reply, text and error"
        return
    wanted = case[expected[0]]
    if isinstance(outcome, ToolError):
        if expected[0] != "error":
            yield f"it failed with {outcome.kind}: {outcome}"
        elif outcome.kind != wanted["kind"] or wanted.get("message", "") not in str(outcome):
            yield f"the error is {outcome.kind}: {outcome}"
        return
    found = replies.texts(outcome) if expected[0] == "text" else replies.structured(outcome)
    if expected[0] == "error":
        yield f"it replied: {replies.texts(outcome) or found}"
    elif found != wanted:
        yield f"the {expected[0]} is {json.dumps(found, ensure_ascii=False)}"
    elif outcome.is_error != case.get("is_error", False):
        yield f"is_error is {json.dumps(outcome.is_error)}"


def run(case: dict, surroundings: dict):
    before = native.surroundings
    settings = {**surroundings.get("settings", {}), **case.get("settings", {})}
    native.surroundings = native.Surroundings(**{**surroundings, "settings": settings})
    try:
        return find(case["tool"]).call(json.dumps(case.get("arguments", {})))
    except ToolError as error:
        return error
    finally:
        native.surroundings = before
