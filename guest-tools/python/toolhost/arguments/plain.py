"""Makes arguments plain: what models write in several ways becomes what the schema of the arguments asks for.

Nothing is guessed. A value changes only where it cannot mean anything else, because the schema refuses it as it is:

| a model writes | where the schema has | it becomes |
|---|---|---|
| `1.0`, `2e3` | anything | `1`, `2000` |
| `null` | a property that cannot be null | the property is left out |
| `""` | an optional property that is no text, or no empty one (`minLength`, `enum`) | the property is left out |
| `"30"` | a number, and no text | `30` |
| `"true"`, `"False"` | a boolean, and no text | `true`, `false` |
| `"[…]"`, `"{…}"` | an array or an object, and no text | the JSON in the text |
| `{…}`, as a text too | an array of objects, and no object | the array with it |
"""

import json

# The integers that 64 bits hold.
LEAST, MOST = -(2**63), 2**64 - 1


class Node:
    """A schema, within the one that has the definitions."""

    def __init__(self, schema, root):
        # Only a definition that is itself could go on for ever.
        for _ in range(8):
            target = resolve(schema, root)
            if target is None:
                break
            schema = target
        self.schema = schema if isinstance(schema, dict) else {}
        self.root = root

    @classmethod
    def of_root(cls, schema: dict) -> "Node":
        return cls(schema, schema)

    def of(self, schema) -> "Node":
        return Node(schema, self.root)

    def each(self, *names: str) -> list["Node"]:
        """Returns the schemas in lists of schemas."""
        return [self.of(one) for name in names for one in self.schema.get(name, ())]

    def property(self, name: str) -> "Node | None":
        schema = self.schema.get("properties", {}).get(name)
        return None if schema is None else self.of(schema)

    def values(self) -> list | None:
        """Returns the values that fit, if the schema lists them."""
        if "const" in self.schema:
            return [self.schema["const"]]
        return self.schema.get("enum")

    def allows(self, kind: str) -> bool:
        """Returns whether values of this type fit."""
        named, values = self.schema.get("type"), self.values()
        if isinstance(named, str):
            fits = named == kind
        elif isinstance(named, list):
            fits = kind in named
        else:
            fits = values is None or any(kind_of(value) == kind for value in values)
        alternatives = self.each("anyOf", "oneOf")
        return (
            fits
            and all(one.allows(kind) for one in self.each("allOf"))
            and (not alternatives or any(one.allows(kind) for one in alternatives))
        )

    def allows_number(self) -> bool:
        return self.allows("integer") or self.allows("number")

    def is_list_of_objects(self) -> bool:
        """Returns whether arrays of objects fit, and no object alone."""
        items = self.of(self.schema.get("items", True))
        is_list = self.allows("array") and not self.allows("object")
        return is_list and items.allows("object") and not items.allows("array")

    def allows_empty(self) -> bool:
        """Returns whether a text without characters fits."""
        values, alternatives = self.values(), self.each("anyOf", "oneOf")
        return (
            self.allows("string")
            and self.schema.get("minLength", 0) == 0
            and (values is None or "" in values)
            and (not alternatives or any(one.allows_empty() for one in alternatives))
            and all(one.allows_empty() for one in self.each("allOf"))
        )

    def requires(self, name: str) -> bool:
        return name in self.schema.get("required", ())

    def plain(self, value):
        """Returns a value made plain."""
        if isinstance(value, str) and not self.allows("string"):
            value = self.read(value)
        if isinstance(value, dict) and self.is_list_of_objects():
            value = [value]
        if isinstance(value, float):
            value = whole(value)
        elif isinstance(value, list):
            items = self.of(self.schema.get("items", True))
            value = [items.plain(item) for item in value]
        elif isinstance(value, dict):
            value = self.fields(value)
        parts = self.each("allOf")
        parts += [one for one in self.each("anyOf", "oneOf") if one.is_meant_by(value)][:1]
        for part in parts:
            value = part.plain(value)
        return value

    def read(self, text: str):
        """Returns what a text says where no text is allowed; the text, if that is nothing."""
        trimmed = text.strip()
        if self.allows("boolean") and trimmed.lower() in ("true", "false"):
            return trimmed.lower() == "true"
        try:
            value = json.loads(trimmed, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return text
        fits = {"integer": self.allows_number, "number": self.allows_number}
        fits |= {
            "array": lambda: self.allows("array"),
            "object": lambda: self.allows("object") or self.is_list_of_objects(),
        }
        return value if kind_of(value) in fits and fits[kind_of(value)]() else text

    def fields(self, fields: dict) -> dict:
        others = self.of(self.schema.get("additionalProperties", True))
        made = {}
        for name, value in fields.items():
            node = self.property(name)
            if node is None:
                made[name] = others.plain(value)
                continue
            is_left_out = value is None and not node.allows("null")
            is_left_out |= value == "" and not self.requires(name) and not node.allows_empty()
            if not is_left_out:
                made[name] = node.plain(value)
        return made

    def is_meant_by(self, value) -> bool:
        """Returns whether a value is written for this one of several schemas: its type fits, and so does each property that
        has a fixed value."""
        kind = kind_of(value)
        if not self.allows(kind) and not (kind == "integer" and self.allows_number()):
            return False
        if not isinstance(value, dict):
            return True
        listed = {name: self.of(one).values() for name, one in self.schema.get("properties", {}).items()}
        return all(
            values is None or name not in value or value[name] in values for name, values in listed.items()
        )


def resolve(schema, root):
    """Returns the definition that a schema refers to; `None` if it refers to none."""
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target = root
    for name in reference[1:].split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, dict) or name not in target:
            return None
        target = target[name]
    return target


def whole(number: float):
    """Returns a whole number as an integer, if 64 bits hold it."""
    fits = number.is_integer() and LEAST <= number < MOST
    return int(number) if fits else number


def kind_of(value) -> str:
    """Returns the type that a schema names a value by."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if LEAST <= value <= MOST else "number"
    kinds = ((float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")
