"""Files that are made of others, and types that must agree with /openapi.json."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx2

import generate
from conftest import TOKEN, Server
from toolhost_client import reply
from toolhost_client.events import EVENTS

CLIENT = Path(generate.__file__).parent


def test_the_blocking_half_is_made_of_the_other() -> None:
    for path, source in generate.sync_files().items():
        assert path.read_text() == source, f"{path} is old; run `python generate.py sync`"


def properties(types: generate.Types, schema: dict[str, Any]) -> dict[str, str]:
    """Returns the properties of an object with their types, of which those that are not required may be `None`."""
    found = {}
    for name, (value, required) in types.properties(schema).items():
        kind = types.of(value)
        found[name] = kind if required or kind == "Any" or kind.endswith("None") else f"{kind} | None"
    return found


def known(kind: type, found: dict[str, str]) -> dict[str, str]:
    """Returns the fields of a dataclass with their types. Types that the client narrows are those that were found."""
    narrowed = ("Literal", "tuple", "CallError")
    return {
        field.name: found.get(field.name, "") if str(field.type).startswith(narrowed) else str(field.type)
        for field in fields(kind)
    }


def test_the_types_are_those_of_the_server(server: Server) -> None:
    response = httpx2.get(f"{server.url}/openapi.json", headers={"authorization": f"Bearer {TOKEN}"})
    description = response.json()
    made = generate.types_file(description)
    assert (CLIENT / "toolhost_client/types.py").read_text() == made, "run `python generate.py types`"

    types = generate.Types(description["components"]["schemas"])
    outcome = properties(types, types.schemas["Outcome"])
    assert known(reply.Reply, outcome) == outcome
    for part in types.schemas["Part"]["oneOf"]:
        found = properties(types, part)
        del found["type"]
        kind = reply.PARTS[part["properties"]["type"]["enum"][0]]
        assert known(kind, found) == found, kind
    assert len(types.schemas["Part"]["oneOf"]) == len(reply.PARTS)
    for event in types.schemas["Event"]["oneOf"]:
        name = event["properties"]["event"]["enum"][0]
        if name != "notice":
            found = {"id": "str", **properties(types, event["properties"]["data"]["contentSchema"])}
            assert known(EVENTS[name], found) == found, name
    assert len(types.schemas["Event"]["oneOf"]) == len(EVENTS) + 1


def test_the_types_hold() -> None:
    """mypy and ruff accept the client."""
    commands = [
        ["mypy", "--cache-dir=/dev/null", "toolhost_client", "generate.py"],
        ["ruff", "check", "--no-cache", "."],
        ["ruff", "format", "--no-cache", "--check", "."],
    ]
    for command in commands:
        checked = subprocess.run([sys.executable, "-m", *command], cwd=CLIENT, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
