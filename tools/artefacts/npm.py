"""Packages of npm: `toolhost`, which starts the program of the package for this machine, and one package for each machine."""

import json
from pathlib import Path

from .packing import Entry, gzip, tar
from .programs import Programs
from .project import AUTHOR, DESCRIPTION, LICENSE, LICENSES, REPOSITORY, ROOT, TARGETS, VERSION
from .registry import SERVER

LAUNCHER = Path(__file__).parent / "launcher.js"
COMMON = {"version": VERSION, "license": LICENSE, "author": AUTHOR, "repository": {"type": "git", "url": f"git+{REPOSITORY}.git"}}


def make(programs: Programs, out: Path) -> None:
    """Writes the package for one machine."""
    target = programs.target
    manifest = {
        "name": f"@toolhost/linux-{target.node}",
        "description": f"The program of toolhost for Linux on {target.node}.",
        **COMMON,
        "os": ["linux"],
        "cpu": [target.node],
        "preferUnplugged": True,
    }
    write(out / f"toolhost-linux-{target.node}-{VERSION}.tgz", manifest, [program(programs)])


def make_common(out: Path) -> None:
    """Writes the package that all machines share."""
    manifest = {
        "name": "toolhost",
        "description": DESCRIPTION,
        **COMMON,
        # The MCP registry compares it with server.json.
        "mcpName": SERVER,
        "bin": {"toolhost": "bin/toolhost.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"@toolhost/linux-{target.node}": VERSION for target in TARGETS},
    }
    entries = [
        Entry("bin/toolhost.js", LAUNCHER.read_bytes(), 0o755),
        Entry("README.md", (ROOT / "README.md").read_bytes()),
    ]
    write(out / f"toolhost-{VERSION}.tgz", manifest, entries)


def program(programs: Programs) -> Entry:
    return Entry("bin/toolhost", programs.toolhost.read_bytes(), 0o755)


def write(path: Path, manifest: dict, entries: list[Entry]) -> None:
    """Writes a package as `npm pack` does: everything is below the folder `package`."""
    licences = [Entry(name, (ROOT / name).read_bytes()) for name in LICENSES]
    described = Entry("package.json", (json.dumps(manifest, indent=2) + "\n").encode())
    every = [described, *licences, *entries]
    path.write_bytes(gzip(tar(entry._replace(path=f"package/{entry.path}") for entry in every)))
