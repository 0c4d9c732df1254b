"""A wheel whose only file is the program, as a script: `uvx toolhost`, `pipx run toolhost`, `pip install toolhost`."""

import base64
import hashlib
from pathlib import Path

from .packing import Entry, zipped
from .programs import Programs
from .project import AUTHOR, DESCRIPTION, LICENSE, LICENSES, REPOSITORY, ROOT, VERSION
from .registry import SERVER

# The program is static, so that any C library will do.
PLATFORMS = ["musllinux_1_2", "manylinux_2_17", "manylinux2014"]


def make(programs: Programs, out: Path) -> None:
    platforms = [f"{platform}_{programs.target.machine}" for platform in PLATFORMS]
    info = f"toolhost-{VERSION}.dist-info"
    metadata = [
        "Metadata-Version: 2.4",
        "Name: toolhost",
        f"Version: {VERSION}",
        f"Summary: {DESCRIPTION}",
        f"Author: {AUTHOR}",
        f"License-Expression: {LICENSE}",
        *(f"License-File: {name}" for name in LICENSES),
        f"Project-URL: Repository, {REPOSITORY}",
        "Classifier: Operating System :: POSIX :: Linux",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
        "",
        # The MCP registry compares it with server.json.
        f"<!-- mcp-name: {SERVER} -->",
        (ROOT / "README.md").read_text(),
    ]
    tags = [f"Tag: py3-none-{platform}" for platform in platforms]
    wheel = ["Wheel-Version: 1.0", "Generator: toolhost-dist", "Root-Is-Purelib: false", *tags, ""]
    entries = [
        Entry(f"toolhost-{VERSION}.data/scripts/toolhost", programs.toolhost.read_bytes(), 0o755),
        *(Entry(f"{info}/licenses/{name}", (ROOT / name).read_bytes()) for name in LICENSES),
        Entry(f"{info}/METADATA", "\n".join(metadata).encode()),
        Entry(f"{info}/WHEEL", "\n".join(wheel).encode()),
    ]
    record = "".join(f"{entry.path},{digest(entry)},{len(entry.content or b'')}\n" for entry in entries)
    entries.append(Entry(f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    (out / f"toolhost-{VERSION}-py3-none-{'.'.join(platforms)}.whl").write_bytes(zipped(entries))


def digest(entry: Entry) -> str:
    """Returns the digest of a file as a wheel's RECORD has it."""
    raw = hashlib.sha256(entry.content or b"").digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).decode().rstrip("=")
