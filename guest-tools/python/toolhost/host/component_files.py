"""Files, by the bindings of the contract."""

from componentize_py_types import Err
from wit_world.imports import files as wit

from .. import files as types
from . import names

WORDS = {
    "not-found": "no such file or directory",
    "not-a-file": "not a file",
    "not-a-directory": "not a directory",
    "outside-workspace": "{} is outside of the workspace",
    "too-large": "larger than {} bytes, the most that is possible",
}


def metadata(path: str) -> types.Metadata:
    return facts(asked(lambda: wit.metadata_of(path)))


def read(path: str, offset: int, max: int) -> types.Chunk:
    seen = asked(lambda: wit.read(path, offset, max))
    return types.Chunk(seen.data, seen.size, seen.version, seen.identity)


def skip_lines(path: str, offset: int, lines: int) -> types.Skipped:
    seen = asked(lambda: wit.skip_lines(path, offset, lines))
    return types.Skipped(seen.offset, seen.lines, seen.size)


def write_all(writes: list[types.Write]) -> list[types.Metadata]:
    return change_all(writes, [])


def change_all(writes: list[types.Write], removals: list[types.Removal]) -> list[types.Metadata]:
    asks = [wit.Write(one.path, one.data, precondition(one)) for one in writes]
    gone = [wit.Removal(one.path, one.version, one.moved_to) for one in removals]
    try:
        return [facts(one) for one in wit.change_all(asks, gone)]
    except Err as error:
        index, refusal = error.value
        raised = names.error(refusal, WORDS)
        raised.index = index
        raise raised from None


def read_directory(path: str, after: str | None, max: int):
    entries, more = asked(lambda: wit.read_directory(path, after, max))
    return [types.Entry(one.name, names.of_enum(one.kind)) for one in entries], more


def search(scope: types.Scope, text: types.Text, skip: int, max: int) -> types.Matches:
    asks = wit.Text(
        text.pattern,
        text.literal,
        wit.LetterCase[text.letter_case.upper()],
        text.words,
        text.multiline,
        text.encoding,
        text.before,
        text.after,
        text.width,
        text.files_only,
    )
    seen = asked(lambda: wit.search_text(scope_of(scope), asks, wit.Page(skip, max)))
    files = [types.FileMatches(one.path, one.matches, [line(shown) for shown in one.lines]) for one in seen.files]
    return types.Matches(files, seen.total_files, seen.total_matches, seen.searched, seen.unreadable, seen.more)


def find(scope: types.Scope, filter: types.Filter, skip: int, max: int) -> types.Found:
    asks = wit.Filter(
        None if filter.kind is None else wit.Kind[filter.kind.upper()],
        filter.min_size,
        filter.max_size,
        filter.since_ms,
        filter.until_ms,
        filter.newest_first,
    )
    seen = asked(lambda: wit.find_files(scope_of(scope), asks, wit.Page(skip, max)))
    files = [types.FoundFile(one.path, names.of_enum(one.kind), one.size, one.modified_ms) for one in seen.files]
    return types.Found(files, seen.total, seen.unreadable, seen.more)


def share(path: str, lifetime_secs: int | None) -> types.SharedFile:
    seen = asked(lambda: wit.share(path, lifetime_secs))
    return types.SharedFile(seen.url, seen.expires_ms, seen.name, seen.size, seen.media_type)


def asked(ask):
    """Returns what the host replies. Raises its refusal as a `HostError`."""
    try:
        return ask()
    except Err as error:
        raise names.error(error.value, WORDS) from None


def precondition(write: types.Write):
    if write.absent:
        return wit.Precondition_Absent()
    return wit.Precondition_Any() if write.version is None else wit.Precondition_Version(write.version)


def scope_of(scope: types.Scope) -> wit.Scope:
    return wit.Scope(scope.path, list(scope.globs), list(scope.types), scope.hidden, scope.ignored, scope.max_depth)


def line(seen: wit.Line) -> types.Line:
    return types.Line(seen.number, seen.text, seen.is_match, seen.is_cut)


def facts(seen: wit.Metadata) -> types.Metadata:
    return types.Metadata(
        names.of_enum(seen.kind), seen.size, seen.modified_ms, seen.version, seen.identity, seen.real_path
    )
