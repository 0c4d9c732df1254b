"""Cases of a JSON file, as `toolhost plugin test` runs them through the component."""

import dataclasses
import json
from pathlib import Path

from .. import failure
from .. import reply as replies
from ..errors import Failed, ToolError
from ..host import native
from ..tool import find
from .fake_files import FakeFiles
from .fake_http import FakeHttp

OUTCOMES = ("reply", "text", "error")
FIELDS = ("name", "tool", "arguments", "settings", "secrets", "files", "http", *OUTCOMES, "is_error")


def run_cases(path: str | Path, **surroundings) -> int:
    """Runs each case of a file, and returns how many there are.

    The cases have the surroundings of the test, as `host(…)` gives them, with these in their place, and with the settings, secrets,
    files and answers of the case. A case without files has an empty workspace, unless the test has files.

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
    unknown = [field for field in case if field not in FIELDS]
    if unknown:
        yield f"unknown field {unknown[0]}; the fields are {', '.join(FIELDS)}"
        return
    expected = [key for key in OUTCOMES if key in case]
    if len(expected) != 1:
        yield "it must have one of reply, text and error"
        return
    within = surroundings_of(case, surroundings)
    outcome = run(case, within)
    # A tool that goes on without an answer hides that from its outcome.
    unanswered = within.http.unanswered if isinstance(within.http, FakeHttp) else []
    if unanswered or isinstance(outcome, native.Missing):
        yield from unanswered or [str(outcome)]
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


def surroundings_of(case: dict, given: dict) -> native.Surroundings:
    """Returns what the call of a case sees."""
    within = dataclasses.replace(native.surroundings, **{"logged": [], "progress": [], **given})
    settings = {name: value if isinstance(value, str) else json.dumps(value) for name, value in case.get("settings", {}).items()}
    within.settings = {**within.settings, **settings}
    within.secrets = {**within.secrets, **case.get("secrets", {})}
    if "files" in case or within.files is None:
        within.files = FakeFiles(case.get("files"))
    if "http" in case:
        within.http = FakeHttp.of_case(case["http"])
    return within


def run(case: dict, within: native.Surroundings):
    """Returns the reply, or the error of the call, also for an exception that the tool does not catch."""
    before = native.surroundings
    native.surroundings = within
    try:
        return find(case["tool"]).call(json.dumps(case.get("arguments", {})))
    except (ToolError, native.Missing) as error:
        return error
    except Exception as error:
        return Failed(failure.summary(error))
    finally:
        native.surroundings = before
