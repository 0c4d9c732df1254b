"""Archives of the programs, each to be unpacked below a prefix such as /usr/local or ~/.local."""

import sys
from pathlib import Path

from .packing import Entry, gzip, tar, xz
from .programs import Programs, documents, texts
from .project import VERSION

# Bytes of an archive compressed with xz, as a goal.
LARGEST = 25_000_000


def make(programs: Programs, out: Path) -> None:
    target = programs.target
    server = [Entry("bin/toolhost", programs.toolhost.read_bytes(), 0o755), *documents(programs)]
    agent = [Entry("bin/toolhost-agent", programs.agent.read_bytes(), 0o755), *texts("toolhost-agent")]
    for name, entries in [("toolhost", server), ("toolhost-agent", agent)]:
        stem = f"{name}-{VERSION}-{target.triple}"
        unpacked = tar(entry._replace(path=f"{stem}/{entry.path}") for entry in entries)
        # Every system unpacks gzip; xz is a third smaller.
        (out / f"{stem}.tar.gz").write_bytes(gzip(unpacked))
        packed = xz(unpacked)
        if len(packed) > LARGEST:
            print(f"warning: {stem}.tar.xz has {len(packed)} bytes; {LARGEST} are the goal", file=sys.stderr)
        (out / f"{stem}.tar.xz").write_bytes(packed)
