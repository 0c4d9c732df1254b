"""Searches of files in memory."""

import re
from collections.abc import Callable

from ..errors import HostError
from ..files import FileMatches, Filter, Found, FoundFile, Line, Matches, Scope, Text

# When every file was changed.
MODIFIED_MS = 1_000_000


def selection(scope: Scope) -> Callable[[str], bool]:
    """Returns a function that says whether a path below the base of a search belongs to its files."""
    wanted = [glob_pattern(glob) for glob in scope.globs if not glob.startswith("!")]
    unwanted = [glob_pattern(glob[1:]) for glob in scope.globs if glob.startswith("!")]

    def takes(path: str) -> bool:
        names = path.split("/")
        return (
            (scope.max_depth is None or len(names) <= scope.max_depth)
            and (scope.hidden or not any(name.startswith(".") for name in names))
            and (not scope.types or any(path.endswith(f".{kind}") for kind in scope.types))
            and (not wanted or any(pattern.search(path) for pattern in wanted))
            and not any(pattern.search(path) for pattern in unwanted)
        )

    return takes


def glob_pattern(glob: str) -> re.Pattern[str]:
    """Returns the pattern of paths that fit a glob, or of which a directory fits."""
    start = "^" if "/" in glob.rstrip("/") else "(^|/)"
    wild = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(", "}": ")", ",": "|"}
    parts = re.findall(r"\*\*/|\*\*|.", glob.strip("/"), re.DOTALL)
    return compiled(start + "".join(wild.get(part) or re.escape(part) for part in parts) + "($|/)")


def text_pattern(text: Text) -> re.Pattern[str]:
    pattern = re.escape(text.pattern) if text.literal else text.pattern
    if text.words:
        pattern = rf"(?<!\w)(?:{pattern})(?!\w)"
    is_lower = not any(letter.isupper() for letter in text.pattern)
    ignores_case = text.letter_case == "any" or (text.letter_case == "smart" and is_lower)
    return compiled(pattern, re.IGNORECASE if ignores_case else 0)


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.MULTILINE | flags)
    except re.error as error:
        raise HostError("invalid", f"the pattern is not valid: {error}") from None


def matches(files: dict[str, bytes], text: Text, skip: int, max: int) -> Matches:
    """Searches files for a text, line by line."""
    pattern = text_pattern(text)
    searched = {path: lines_of(data) for path, data in files.items() if 0 not in data}
    matching = {path: [at for at, line in enumerate(lines) if pattern.search(line)] for path, lines in searched.items()}
    matching = {path: places for path, places in matching.items() if places}
    if text.files_only:
        results = [(path, None) for path in matching]
    else:
        results = [(path, place) for path, places in matching.items() for place in places]
    page: dict[str, list[int]] = {}
    for path, place in results[skip : skip + max]:
        page.setdefault(path, []).extend([] if place is None else [place])
    found = [
        FileMatches(path, len(matching[path]), lines_near(searched[path], places, set(matching[path]), text))
        for path, places in page.items()
    ]
    total = sum(len(places) for places in matching.values())
    return Matches(found, len(matching), total, len(searched), 0, len(results) > skip + max)


def lines_of(data: bytes) -> list[str]:
    lines = data.decode(errors="replace").split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def lines_near(lines: list[str], places: list[int], matching: set[int], text: Text) -> list[Line]:
    """Returns the lines at these places, and those before and after them."""
    near = {at for place in places for at in range(place - text.before, place + text.after + 1)}
    shown = [(at, lines[at]) for at in sorted(near) if 0 <= at < len(lines)]
    return [Line(at + 1, line[: text.width], at in matching, len(line) > text.width) for at, line in shown]


def find(files: dict[str, bytes], filter: Filter, skip: int, max: int) -> Found:
    """Finds files by their facts."""
    found = [FoundFile(path, "file", len(data), MODIFIED_MS) for path, data in files.items() if passes(filter, len(data))]
    return Found(found[skip : skip + max], len(found), 0, len(found) > skip + max)


def passes(filter: Filter, size: int) -> bool:
    return (
        filter.kind in (None, "file")
        and (filter.min_size is None or size >= filter.min_size)
        and (filter.max_size is None or size <= filter.max_size)
        and (filter.since_ms is None or MODIFIED_MS >= filter.since_ms)
        and (filter.until_ms is None or MODIFIED_MS < filter.until_ms)
    )
