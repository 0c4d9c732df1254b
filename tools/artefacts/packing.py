"""Archives whose bytes depend on nothing but their content: fixed owners, modes, order and times."""

import io
import lzma
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from .project import EPOCH


class Entry(NamedTuple):
    """A file of an archive, a directory (`content` is None), or a symbolic link (`link`)."""

    path: str
    content: bytes | None
    mode: int = 0o644
    owner: int = 0
    link: str = ""


def directory(path: str, mode: int = 0o755, owner: int = 0) -> Entry:
    return Entry(path, None, mode, owner)


def ordered(entries: Iterable[Entry]) -> list[Entry]:
    """Returns the entries by path, with the directories that they are in."""
    named = {entry.path: entry for entry in entries}
    for path in list(named):
        for parent in PurePosixPath(path).parents:
            if str(parent) != ".":
                named.setdefault(str(parent), directory(str(parent)))
    return [named[path] for path in sorted(named)]


def tar(entries: Iterable[Entry], prefix: str = "") -> bytes:
    """Returns a tar archive. `prefix` goes before each path, such as `./`."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in ordered(entries):
            member = tarfile.TarInfo(prefix + entry.path)
            member.mtime, member.mode = EPOCH, entry.mode
            member.uid = member.gid = entry.owner
            if entry.link:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.link, 0o777
            elif entry.content is None:
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(entry.content)
            archive.addfile(member, io.BytesIO(entry.content or b""))
    return written.getvalue()


def gzip(content: bytes) -> bytes:
    """Compresses without a name or time in the header."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, 31)
    return compressor.compress(content) + compressor.flush()


def xz(content: bytes) -> bytes:
    return lzma.compress(content, preset=6)


def zipped(entries: Iterable[Entry]) -> bytes:
    """Returns a zip archive of the files, in the order given."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for entry in entries:
            member = zipfile.ZipInfo(entry.path, time.gmtime(EPOCH)[:6])
            member.external_attr = (0o100000 | entry.mode) << 16
            member.create_system = 3
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, entry.content or b"")
    return written.getvalue()


def ar(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Returns an archive of ar, which a Debian package is."""
    written = b"!<arch>\n"
    for name, content in files:
        written += f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        written += content + b"\n" * (len(content) % 2)
    return written
