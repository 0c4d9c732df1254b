"""A workspace whose files are in memory."""

import hashlib
import posixpath

from ..errors import HostError
from ..files import Chunk, Entry, Filter, Found, Matches, Metadata, Removal, Scope, SharedFile, Skipped, Text, Write
from ..host import native
from . import search


class FakeFiles:
    """Stands in for the host's files: a tree in memory below the workspace, such as `FakeFiles({"src/main.py": "pass\\n"})`.

    Directories are there as soon as something is in them. `content` has the bytes by absolute path.

    A search takes regular expressions of Python, and looks at one line at a time. It knows no ignore files and no encodings, and
    takes the name of a type for an extension, such as `py`. `find` finds no directories, and all files were changed at one time.
    Links to shared files are made at the time 0, and the media types are those of `.txt` and of bytes.
    """

    def __init__(self, files: dict[str, str | bytes] | None = None):
        self.content: dict[str, bytes] = {}
        self.failing: dict[str, HostError] = {}
        for path, data in (files or {}).items():
            self.content[absolute(path)] = data.encode() if isinstance(data, str) else data

    def fails(self, path: str, reason: str, text: str) -> "FakeFiles":
        """Lets everything fail that is done to this path, for example with the reason `denied`."""
        self.failing[absolute(path)] = HostError(reason, text)
        return self

    def text(self, path: str) -> str | None:
        """Returns the content of a file as text; `None` if there is no such file."""
        data = self.content.get(absolute(path))
        return None if data is None else data.decode()

    def metadata(self, path: str) -> Metadata:
        real, data = self.at(path)
        kind = "directory" if data is None else "file"
        return Metadata(kind, len(data or b""), search.MODIFIED_MS, version(data or b""), real, real)

    def read(self, path: str, offset: int, max: int) -> Chunk:
        data = self.file(path)
        return Chunk(data[offset : offset + min(max, 4 << 20)], len(data), version(data), absolute(path))

    def skip_lines(self, path: str, offset: int, lines: int) -> Skipped:
        data = self.file(path)
        at, gone = min(offset, len(data)), 0
        while gone < lines and (end := data.find(b"\n", at)) >= 0:
            at, gone = end + 1, gone + 1
        return Skipped(at if gone == lines else len(data), gone, len(data))

    def write_all(self, writes: list[Write]) -> list[Metadata]:
        return self.change_all(writes, [])

    def change_all(self, writes: list[Write], removals: list[Removal]) -> list[Metadata]:
        gone = [absolute(removal.path) for removal in removals]
        for index, change in enumerate([*writes, *removals]):
            try:
                if isinstance(change, Write):
                    self.check(change)
                elif change.version not in (None, version(self.file(change.path))):
                    raise HostError("changed", "file changed since it was read")
                if (gone + [absolute(write.path) for write in writes]).count(absolute(change.path)) > 1:
                    raise HostError("invalid", "the same file is to be changed twice")
            except HostError as error:
                error.index = index
                raise
        for path in gone:
            del self.content[path]
        for write in writes:
            self.content[absolute(write.path)] = write.data
        return [self.metadata(write.path) for write in writes]

    def read_directory(self, path: str, after: str | None, max: int) -> tuple[list[Entry], bool]:
        directory, data = self.at(path)
        if data is not None:
            raise HostError("not-a-directory", "not a directory")
        rests = [file[len(directory) + 1 :] for file in self.content if file.startswith(f"{directory}/")]
        names = {rest.partition("/")[0]: "directory" if "/" in rest else "file" for rest in rests}
        found = [Entry(name, kind) for name, kind in sorted(names.items()) if after is None or name > after]
        return found[:max], len(found) > max

    def search(self, scope: Scope, text: Text, skip: int, max: int) -> Matches:
        return search.matches(self.below(scope), text, skip, max)

    def find(self, scope: Scope, filter: Filter, skip: int, max: int) -> Found:
        return search.find(self.below(scope), filter, skip, max)

    def share(self, path: str, lifetime_secs: int | None) -> SharedFile:
        lifetime = 86_400 if lifetime_secs is None else lifetime_secs
        if not 60 <= lifetime <= 604_800:
            raise HostError("invalid", f"a link lasts from 60 to 604800 seconds, not {lifetime}")
        data, name = self.file(path), posixpath.basename(absolute(path))
        url = f"https://toolhost.example/v1/links/{version(data)}/{name}"
        media_type = "text/plain" if name.endswith(".txt") else "application/octet-stream"
        return SharedFile(url, lifetime * 1000, name, len(data), media_type)

    def below(self, scope: Scope) -> dict[str, bytes]:
        """Returns the files of a search by their paths relative to the workspace, in order."""
        base, data = self.at(scope.path)
        if data is not None:
            return {shown(base): data}
        takes = search.selection(scope)
        inside = f"{base}/"
        files = sorted(self.content.items())
        return {shown(path): data for path, data in files if path.startswith(inside) and takes(path[len(inside) :])}

    def at(self, path: str) -> tuple[str, bytes | None]:
        """Returns the absolute path, and what is there: `None` for a directory."""
        real, root = absolute(path), native.surroundings.workspace_root
        if real in self.failing:
            raise self.failing[real]
        if real != root and not real.startswith(f"{root}/"):
            raise HostError("outside-workspace", f"{path} is outside of the workspace")
        if real in self.content:
            return real, self.content[real]
        if real == root or any(file.startswith(f"{real}/") for file in self.content):
            return real, None
        if any(real.startswith(f"{file}/") for file in self.content):
            raise HostError("not-a-directory", "not a directory")
        raise HostError("not-found", "no such file or directory")

    def file(self, path: str) -> bytes:
        data = self.at(path)[1]
        if data is None:
            raise HostError("not-a-file", "not a file")
        return data

    def check(self, write: Write):
        try:
            data = self.file(write.path)
        except HostError as error:
            if error.reason != "not-found":
                raise
            data = None
        if write.absent and data is not None:
            raise HostError("changed", "file exists")
        if write.version is not None and (data is None or version(data) != write.version):
            raise HostError("changed", "file changed since it was read")


def absolute(path: str) -> str:
    return posixpath.normpath(posixpath.join(native.surroundings.workspace_root, path))


def shown(path: str) -> str:
    """Returns an absolute path relative to the workspace."""
    return posixpath.relpath(path, native.surroundings.workspace_root)


def version(data: bytes) -> str:
    return f"fake-{hashlib.sha256(data).hexdigest()[:16]}"
