"""Lists of what is in each program: CycloneDX 1.6, from the metadata of cargo."""

import json
import subprocess
import uuid
from pathlib import Path

from .programs import PROGRAMS
from .project import COMMIT, DESCRIPTION, LICENSE, REPOSITORY, ROOT, VERSION, Target

# The crates that compile the guests, whose dependencies are in the program as well.
GUESTS = ["toolhost-shell", "toolhost-files", "toolhost-find", "toolhost-script"]


def make(target: Target, out: Path) -> None:
    """Writes the list of each program for a target."""
    native = metadata(target.triple)
    for name, (_, arguments) in PROGRAMS.items():
        package = arguments[arguments.index("--package") + 1]
        found = reached(native, [package])
        if name == "toolhost":
            found = reached(metadata("wasm32-wasip2"), GUESTS) | found
        components = [component(*found[reference]) for reference in sorted(found)]
        serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{REPOSITORY}/{name}/{target.triple}/{COMMIT}")
        listed = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": f"urn:uuid:{serial}",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": name,
                    "name": name,
                    "version": VERSION,
                    "description": DESCRIPTION,
                    "licenses": [{"expression": LICENSE}],
                },
            },
            "components": components,
            "dependencies": [
                {"ref": name, "dependsOn": [reference for reference in sorted(found) if found[reference][0]["name"] == package]},
                *({"ref": reference, "dependsOn": sorted(found[reference][1])} for reference in sorted(found)),
            ],
        }
        path = out / f"{name}-{VERSION}-{target.triple}.cdx.json"
        path.write_text(json.dumps(listed, indent=1) + "\n")


def metadata(triple: str) -> dict:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features", "--filter-platform", triple]
    return json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)


def reached(metadata: dict, roots: list[str]) -> dict[str, tuple[dict, list[str]]]:
    """Returns the packages that are compiled into these, by reference, each with the references of its dependencies."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [identity for identity, package in packages.items() if package["name"] in roots and package["source"] is None]
    seen: dict[str, tuple[dict, list[str]]] = {}
    while waiting:
        identity = waiting.pop()
        if url(packages[identity]) in seen:
            continue
        linked = [
            dependency["pkg"] for dependency in nodes[identity]["deps"] if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        seen[url(packages[identity])] = (packages[identity], [url(packages[other]) for other in linked])
        waiting += linked
    return seen


def url(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict, _: list[str]) -> dict:
    described = {"type": "library", "bom-ref": url(package), "name": package["name"], "version": package["version"]}
    if package["license"]:
        # Older packages have a slash where SPDX has OR.
        described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return described | {"purl": url(package)}
