"""An MCP bundle, and `server.json`, with which the MCP registry finds the packages."""

import json
from pathlib import Path

from . import seal
from .packing import Entry, zipped
from .programs import Programs
from .project import AUTHOR, DESCRIPTION, IMAGES, LICENSE, LICENSES, REPOSITORY, ROOT, TARGETS, VERSION, Target

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# The registry takes names below `io.github.OWNER/` from that owner.
SERVER = "io.github." + "/".join(REPOSITORY.split("/")[-2:])
WORKSPACE = "The directory in which tools read and write files, and in which commands run"


def bundle_name(target: Target) -> str:
    return f"toolhost-{VERSION}-{target.triple}.mcpb"


def make_bundle(programs: Programs, out: Path) -> None:
    """Writes a bundle that a desktop client installs with a click. It asks for the workspace."""
    manifest = {
        "manifest_version": "0.3",
        "name": "toolhost",
        "display_name": "Toolhost",
        "version": VERSION,
        "description": DESCRIPTION,
        "author": {"name": AUTHOR},
        "repository": {"type": "git", "url": REPOSITORY},
        "license": LICENSE,
        "server": {
            "type": "binary",
            "entry_point": "server/toolhost",
            "mcp_config": {
                "command": "${__dirname}/server/toolhost",
                "args": ["mcp", "--workspace", "${user_config.workspace}"],
            },
        },
        "tools_generated": True,
        "user_config": {
            "workspace": {"type": "directory", "title": "Workspace", "description": WORKSPACE, "required": True},
        },
        "compatibility": {"platforms": ["linux"]},
    }
    entries = [
        Entry("manifest.json", (json.dumps(manifest, indent=2) + "\n").encode()),
        Entry("server/toolhost", programs.toolhost.read_bytes(), 0o755),
        *(Entry(name, (ROOT / name).read_bytes()) for name in LICENSES),
    ]
    (out / bundle_name(programs.target)).write_bytes(zipped(entries))


def make_server(out: Path) -> None:
    """Writes `server.json`. Of the bundles, it names those that were made."""
    workspace = {
        "type": "named",
        "name": "--workspace",
        "description": WORKSPACE,
        "format": "filepath",
        "isRequired": True,
    }
    common = {
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}, workspace],
    }
    packages = [
        {"registryType": "npm", "identifier": "toolhost", "version": VERSION, "runtimeHint": "npx", **common},
        {"registryType": "pypi", "identifier": "toolhost", "version": VERSION, "runtimeHint": "uvx", **common},
        {
            "registryType": "oci",
            "identifier": f"{IMAGES}/toolhost:{VERSION}",
            "runtimeHint": "docker",
            "transport": {"type": "stdio"},
            "packageArguments": [{"type": "positional", "value": "mcp"}],
        },
    ]
    for bundle in [out / bundle_name(target) for target in TARGETS]:
        if bundle.exists():
            address = f"{REPOSITORY}/releases/download/v{VERSION}/{bundle.name}"
            digest = seal.digest(bundle.read_bytes())
            packages.append({"registryType": "mcpb", "identifier": address, "fileSha256": digest, "transport": {"type": "stdio"}})
    server = {
        "$schema": SCHEMA,
        "name": SERVER,
        "title": "Toolhost",
        "description": DESCRIPTION,
        "repository": {"url": REPOSITORY, "source": "github"},
        "version": VERSION,
        "packages": packages,
    }
    (out / "server.json").write_text(json.dumps(server, indent=2) + "\n")
