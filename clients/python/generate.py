"""Writes the files of the client that are made of others.

python generate.py sync                 toolhost_client/_sync, of toolhost_client/_async
python generate.py types OPENAPI_JSON   toolhost_client/types.py, of the /openapi.json of a server
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent / "toolhost_client"
# This module is written by hand on both sides.
BY_HAND = "parallel.py"
SYNC = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b(httpx2\.)?Async(?=[A-Z])", r"\1"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\ba(close|read|iter_bytes|closing)\b", r"\1"),
    (r"\bAwaitable\[([^\[\]]+)\]", r"\1"),
]
# The schemas of the answers that a chat gets, besides those that they name.
ROOTS = [
    *["CallPage", "ChatWorkspace", "EndedChat", "FileLink", "FileList", "JsonTools", "NoticeList", "Output"],
    *["PortList", "ProcessDetails", "ProcessList"],
]


def synchronous(source: str) -> str:
    """Returns the source of a synchronous module for that of an asynchronous one."""
    for pattern, replacement in SYNC:
        source = re.sub(pattern, replacement, source)
    head, rest = source.split("\n", 1)
    return f"{head}\n\n# Made of _async by generate.py.\n{rest}"


def sync_files() -> dict[Path, str]:
    """Returns the content of each synchronous file."""
    sources = [path for path in (PACKAGE / "_async").glob("*.py") if path.name != BY_HAND]
    return {PACKAGE / "_sync" / path.name: synchronous(path.read_text()) for path in sources}


class Types:
    """The types of Python for the schemas of a description of the API."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas
        self.classes: dict[str, str] = {}

    def properties(self, schema: dict[str, Any]) -> dict[str, tuple[Any, bool]]:
        """Returns the properties of an object, each with whether it is required."""
        if "$ref" in schema:
            return self.properties(self.schemas[schema["$ref"].split("/")[-1]])
        found = {}
        for part in schema.get("allOf", []):
            found.update(self.properties(part))
        required = schema.get("required", [])
        found.update({name: (value, name in required) for name, value in schema.get("properties", {}).items()})
        return found

    def named(self, name: str) -> str:
        """Returns the type of a named schema, and writes its class."""
        schema = self.schemas[name]
        properties = self.properties(schema)
        if not properties:
            return self.of(schema)
        if name not in self.classes:
            self.classes[name] = ""
            lines = [f"class {name}(TypedDict):", f'    """{" ".join(schema["description"].split())}"""', ""]
            for key, (value, required) in properties.items():
                kind = self.of(value)
                lines.append(f"    {key}: {kind if required else f'NotRequired[{kind}]'}")
            self.classes[name] = "\n".join(lines)
        return name

    def of(self, schema: dict[str, Any]) -> str:
        """Returns the type of a schema."""
        if "$ref" in schema:
            return self.named(schema["$ref"].split("/")[-1])
        kind = schema.get("type")
        if one_of := schema.get("oneOf"):
            kinds = dict.fromkeys(self.of(one) for one in one_of if one.get("type") != "null")
            return " | ".join([*kinds, *["None"][: any(one.get("type") == "null" for one in one_of)]])
        if isinstance(kind, list):
            return " | ".join(self.of({**schema, "type": one}) for one in kind)
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
        if kind == "array":
            return f"list[{self.of(schema['items'])}]"
        names = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
        return names.get(kind or "", "dict[str, Any]" if kind == "object" else "Any")


def types_file(description: dict[str, Any]) -> str:
    """Returns the content of types.py."""
    types = Types(description["components"]["schemas"])
    for root in ROOTS:
        types.named(root)
    head = '"""The JSON of the answers of Toolhost, besides replies and events."""\n\n# Made of /openapi.json by generate.py.\n'
    imports = "from __future__ import annotations\n\nfrom typing import Any, Literal, TypedDict\n\n"
    imports += "from typing_extensions import NotRequired\n"
    return "\n\n".join([head + imports, *[types.classes[name] + "\n" for name in sorted(types.classes)]])


def main() -> None:
    match sys.argv[1:]:
        case ["sync"]:
            for path, source in sync_files().items():
                path.write_text(source)
        case ["types", description]:
            (PACKAGE / "types.py").write_text(types_file(json.loads(Path(description).read_text())))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
