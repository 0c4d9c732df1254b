"""Facts about the project and its targets that several artefacts name."""

import os
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
VERSION = PACKAGE["version"]
LICENSE = PACKAGE["license"]
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]
DESCRIPTION = "Runs the tools of chat servers: their logic in WebAssembly, commands as processes."
AUTHOR = "The authors of Toolhost"
# A placeholder until the project has a public repository. The MCP registry derives the name of the server from it.
REPOSITORY = os.environ.get("DIST_REPOSITORY", "https://github.com/example/toolhost")
MAINTAINER = os.environ.get("DIST_MAINTAINER", f"{AUTHOR} <toolhost@example.com>")
IMAGES = os.environ.get("DIST_IMAGES", "ghcr.io/example")


class Target(NamedTuple):
    """A kind of machine, with the name that each kind of package has for it."""

    machine: str
    debian: str
    node: str

    @property
    def triple(self) -> str:
        return f"{self.machine}-unknown-linux-musl"


TARGETS = [Target("x86_64", "amd64", "x64"), Target("aarch64", "arm64", "arm64")]


def git(*arguments: str) -> str:
    """Returns what a command of git prints for the checkout."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


COMMIT = os.environ.get("DIST_COMMIT") or git("rev-parse", "HEAD")
# The only time that artefacts have: that of the commit.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))
