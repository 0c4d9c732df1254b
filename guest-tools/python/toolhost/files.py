"""Files of the workspace. The plugin needs the grant `files`.

Paths are absolute, or relative to the workspace directory. The host resolves them, and nothing outside can be reached. Every
function raises `HostError`, whose `reason` is for example `not-found`, `not-a-file`, `outside-workspace` or `changed`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .errors import HostError
from .glob import Pattern
from .host import current

# The most bytes that the host gives at once.
PIECE = 4 << 20
# The most names that the host gives at once.
PAGE = 10_000
# The most results of a search, unless the plugin asks for another number.
RESULTS = 1000


@dataclass(frozen=True)
class Metadata:
    """Facts about a path. `kind` is file, directory, symlink or other; `version` changes when the content does."""

    kind: str
    size: int
    modified_ms: int
    version: str
    identity: str
    real_path: str


@dataclass(frozen=True)
class Chunk:
    """A stretch of a file, and the size and version of the whole."""

    data: bytes
    size: int
    version: str
    identity: str


@dataclass(frozen=True)
class Skipped:
    """The offset behind a number of lines, how many line feeds were gone over, and the size of the file."""

    offset: int
    lines: int
    size: int


@dataclass(frozen=True)
class Entry:
    """One name in a directory, and its kind: file, directory, symlink or other."""

    name: str
    kind: str


@dataclass(frozen=True)
class Write:
    """A file to write. `absent`: only if there is no such file. `version`: only if the file still has this version."""

    path: str
    data: bytes
    absent: bool = False
    version: str | None = None


@dataclass(frozen=True)
class Removal:
    """A file to remove: `version` only with this version. `moved_to` is the index of the write that moves it, which keeps its mode."""

    path: str
    version: str | None = None
    moved_to: int | None = None


@dataclass(frozen=True)
class Scope:
    """The files that a search goes over: see `search`."""

    path: str
    globs: tuple[str, ...]
    types: tuple[str, ...]
    hidden: bool
    ignored: bool
    max_depth: int | None


@dataclass(frozen=True)
class Text:
    """The text that a search looks for: see `search`."""

    pattern: str
    literal: bool
    letter_case: str
    words: bool
    multiline: bool
    encoding: str | None
    before: int
    after: int
    width: int
    files_only: bool


@dataclass(frozen=True)
class Line:
    """A line of a file that was searched, with its number from 1.

    `is_match`: the line matches, and is not only near a match. `is_cut`: a part of the line is missing, because it is too long.
    """

    number: int
    text: str
    is_match: bool
    is_cut: bool


@dataclass(frozen=True)
class FileMatches:
    """A file that matches: its path, relative to the workspace directory; how many of its lines match; and the lines of the page."""

    path: str
    matches: int
    lines: list[Line]


@dataclass(frozen=True)
class Matches:
    """The results of `search`: the files of the page, in the order of their paths, and numbers for all files.

    `searched` is how many files were searched, and `unreadable` how many files or directories could not be read. `more`: results
    follow those of the page.
    """

    files: list[FileMatches]
    total_files: int
    total_matches: int
    searched: int
    unreadable: int
    more: bool


@dataclass(frozen=True)
class Filter:
    """The facts that a file must have to be found: see `find`."""

    kind: str | None
    min_size: int | None
    max_size: int | None
    since_ms: int | None
    until_ms: int | None
    newest_first: bool


@dataclass(frozen=True)
class FoundFile:
    """A file that was found. Its path is relative to the workspace directory; its size is 0 unless it is a regular file."""

    path: str
    kind: str
    size: int
    modified_ms: int


@dataclass(frozen=True)
class Found:
    """The results of `find`: the files of the page, how many files there are in all, and whether some follow those of the page.

    `unreadable` is how many directories could not be read.
    """

    files: list[FoundFile]
    total: int
    unreadable: int
    more: bool


@dataclass(frozen=True)
class SharedFile:
    """A link to a file, which a person opens without a token until `expires_ms`, in milliseconds since 1970; and facts about the file."""

    url: str
    expires_ms: int
    name: str
    size: int
    media_type: str


def metadata(path: str) -> Metadata:
    """Returns facts about what a path names, following links."""
    return port().metadata(path)


def exists(path: str) -> bool:
    """Returns whether there is something at a path."""
    try:
        port().metadata(path)
    except HostError as error:
        if error.reason == "not-found":
            return False
        raise
    return True


def read(path: str, offset: int = 0, max: int = PIECE) -> Chunk:
    """Returns at most `max` bytes of a file, from the byte `offset` on; never more than 4 MiB."""
    return port().read(path, offset, max)


def read_bytes(path: str) -> bytes:
    """Returns the whole content of a file, however often it changes meanwhile."""
    data = b""
    while True:
        chunk = read(path, len(data))
        data += chunk.data
        if len(data) >= chunk.size or not chunk.data:
            return data


def read_text(path: str) -> str:
    """Returns the whole content of a file as text, with U+FFFD for what is not UTF-8."""
    return read_bytes(path).decode(errors="replace")


def skip_lines(path: str, offset: int, lines: int) -> Skipped:
    """Goes over at most `lines` lines of a file, from the byte `offset` on, without reading them into the plugin."""
    return port().skip_lines(path, offset, lines)


def write(path: str, data: bytes | str, *, absent: bool = False, version: str | None = None) -> Metadata:
    """Writes a file, and the directories above it: `absent` only a new one, `version` only over this version."""
    data = data.encode() if isinstance(data, str) else data
    return write_all([Write(path, data, absent, version)])[0]


def write_all(writes: list[Write]) -> list[Metadata]:
    """Writes all of the files or none, and returns facts about each. The error of a file has its `index`."""
    return port().write_all(writes)


def remove(path: str, *, version: str | None = None) -> None:
    """Removes a file, `version` only with this version. Of a link, the link is removed."""
    change_all([], [Removal(path, version)])


def change_all(writes: list[Write], removals: list[Removal]) -> list[Metadata]:
    """Writes and removes all of the files or none, and returns facts about each that was written.

    A file is moved by writing its content to the new path and removing the old one. The error of a file has its `index`, which counts
    on behind the writes for a removal.
    """
    return port().change_all(writes, removals)


def list_directory(path: str = ".") -> list[Entry]:
    """Returns all names of a directory, in the order of their bytes."""
    entries: list[Entry] = []
    more = True
    while more:
        page, more = port().read_directory(path, entries[-1].name if entries else None, PAGE)
        entries += page
        more = more and bool(page)
    return entries


def walk(pattern: str = "**") -> Iterator[str]:
    """Yields the paths of the files that fit a pattern such as `src/**/*.py`: those of a directory by name, then those below it.

    `*` and `?` stand for characters of one name, and `**` for any number of directories. A name that begins with a dot fits only a
    part of the pattern that begins with one. Links to directories are not followed, and directories that cannot be read are left
    out. Raises `HostError` if the directory at the beginning of the pattern cannot be read.
    """
    wanted = Pattern(pattern)
    waiting: list[list[str]] = [[]]
    while waiting:
        names = waiting.pop()
        directory = join(wanted.directory, names)
        try:
            entries = list_directory(directory)
        except HostError as error:
            if names and error.reason in ("not-found", "not-a-directory", "denied"):
                continue
            raise
        below = [[*names, entry.name] for entry in entries if entry.kind == "directory"]
        waiting += reversed([path for path in below if wanted.goes_into(path)])
        for entry in entries:
            path = [*names, entry.name]
            if entry.kind in ("file", "symlink") and wanted.fits(path):
                found = join(wanted.directory, path)
                if entry.kind == "file" or is_file(found):
                    yield found


def search(
    pattern: str,
    path: str = ".",
    *,
    globs: list[str] | tuple[str, ...] = (),
    types: list[str] | tuple[str, ...] = (),
    hidden: bool = False,
    ignored: bool = False,
    max_depth: int | None = None,
    literal: bool = False,
    letter_case: str = "exact",
    words: bool = False,
    multiline: bool = False,
    encoding: str | None = None,
    before: int = 0,
    after: int = 0,
    width: int = 1024,
    files_only: bool = False,
    skip: int = 0,
    max: int = RESULTS,
) -> Matches:
    """Searches files for a regular expression of the Rust crate `regex`, in the host. Binary files are left out.

    The search begins at `path`, a directory or a file. `globs` are lines of a `.gitignore`: a file must fit one of those without `!`,
    and none of those with `!`. `types` are names of ripgrep, such as `rust`. `hidden` adds names that begin with a dot, and
    `ignored` the files that a `.gitignore` names. The files of `path` itself have the depth 1.

    `literal`: the pattern is a text. `letter_case` is exact, any, or smart: any, unless the pattern has a capital letter. `words`:
    only whole words match. `multiline`: a match may have several lines. `encoding` is that of all files, such as `shift_jis`;
    `None`: UTF-8, or UTF-16 if a byte order mark says so.

    Each match comes with `before` and `after` lines around it. `width` is the most bytes of a line. With `files_only`, the results
    are files without their lines. The page has at most `max` results, of which `skip` are left out first.
    """
    scope = Scope(path, tuple(globs), tuple(types), hidden, ignored, max_depth)
    text = Text(pattern, literal, letter_case, words, multiline, encoding, before, after, width, files_only)
    return port().search(scope, text, skip, max)


def find(
    path: str = ".",
    *,
    globs: list[str] | tuple[str, ...] = (),
    types: list[str] | tuple[str, ...] = (),
    hidden: bool = False,
    ignored: bool = False,
    max_depth: int | None = None,
    kind: str | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
    newest_first: bool = False,
    skip: int = 0,
    max: int = RESULTS,
) -> Found:
    """Finds files and directories by their paths and facts, in the host.

    `path`, `globs`, `types`, `hidden`, `ignored`, `max_depth`, `skip` and `max` are those of `search`. `kind` is file, directory,
    symlink or other. `min_size` and `max_size` are bytes of a regular file. The file was changed at `since_ms` or later, and before
    `until_ms`, both in milliseconds since 1970. The files are in the order of their paths, or with `newest_first` in that of their
    last changes.
    """
    scope = Scope(path, tuple(globs), tuple(types), hidden, ignored, max_depth)
    return port().find(scope, Filter(kind, min_size, max_size, since_ms, until_ms, newest_first), skip, max)


def share(path: str, *, lifetime_secs: int | None = None) -> SharedFile:
    """Makes a link by which the person that the chat is with gets a file, as the file is then.

    It ends after `lifetime_secs`, from 60 to 604,800; without it, after a day. If people cannot reach the host, the text of the error
    says what to do.
    """
    return port().share(path, lifetime_secs)


def join(directory: str, names: list[str]) -> str:
    """Returns the path of what is below a directory; that of the directory `.` is left out."""
    if not names:
        return directory
    return "/".join(names if directory == "." else [directory.rstrip("/"), *names])


def is_file(path: str) -> bool:
    try:
        return metadata(path).kind == "file"
    except HostError:
        return False


# At the end, since the bindings use the types above.
port = current.load("files")
