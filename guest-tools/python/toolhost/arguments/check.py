"""Compares arguments with their schema, and says what does not fit."""

import re

from . import words
from .plain import Node, kind_of


def problem(arguments, schema: Node) -> str | None:
    """Returns a sentence about the first thing that does not fit; `None` if everything does."""
    for path, reason, is_about_field in problems(arguments, schema, ""):
        # What is missing or unknown at the top is named by the reason.
        if not path:
            return f"invalid arguments: {reason}"
        if is_about_field and "." not in path and "[" not in path:
            return f"invalid arguments: {words.unknown_argument(path, list(schema.schema.get('properties', {})))}"
        return f"invalid argument `{path}`: {reason}"
    return None


def problems(value, node: Node, path: str):
    """Yields what does not fit: where, why, and whether there is no such field."""
    alternatives = node.each("anyOf", "oneOf")
    if alternatives:
        yield from of_alternatives(value, alternatives, path)
    for part in node.each("allOf"):
        yield from problems(value, part, path)
    kind = kind_of(value)
    if not node.allows(kind) and not (kind == "integer" and node.allows("number")):
        yield path, f"invalid type: {words.found(value)}, expected {words.expected(node)}", False
        return
    values = node.values()
    if values is not None and not any(same(value, one) for one in values):
        yield path, words.not_listed(value, values), False
        return
    checks = {"integer": of_number, "number": of_number, "string": of_text, "array": of_array, "object": of_object}
    if kind in checks:
        yield from checks[kind](value, node, path)


def of_alternatives(value, alternatives: list[Node], path: str):
    found = [list(problems(value, one, path)) for one in alternatives]
    if any(not one for one in found):
        return
    meant = [one for node, one in zip(alternatives, found) if node.is_meant_by(value)]
    if len(meant) == 1:
        yield from meant[0]
    else:
        yield path, "it has none of the forms that this argument can have", False


def of_number(value, node: Node, path: str):
    schema = node.schema
    least, most = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    fits = (least is None or value >= least) and (most is None or value <= most)
    fits &= (above is None or value > above) and (below is None or value < below)
    if not fits:
        yield path, f"invalid value: {words.found(value)}, expected {words.expected(node)}", False
    step = schema.get("multipleOf")
    if fits and step and value % step != 0:
        yield path, f"invalid value: {words.found(value)}, expected a multiple of {step}", False


def of_text(value: str, node: Node, path: str):
    yield from of_length(len(value), node, path, "minLength", "maxLength", "character")
    pattern = node.schema.get("pattern")
    if pattern is not None and not re.search(pattern, value):
        yield path, f"invalid value: {words.found(value)}, expected a string that matches `{pattern}`", False


def of_array(value: list, node: Node, path: str):
    first = [node.of(one) for one in node.schema.get("prefixItems", ())]
    rest = node.schema.get("items", True)
    yield from of_length(len(value), node, path, "minItems", "maxItems", "item")
    if rest is False and len(value) > len(first):
        yield path, f"invalid length {len(value)}, expected {words.count(len(first), 'item')}", False
    others = node.of(rest)
    for index, item in enumerate(value):
        yield from problems(item, first[index] if index < len(first) else others, f"{path}[{index}]")
    if node.schema.get("uniqueItems") and any(same(one, other) for at, one in enumerate(value) for other in value[:at]):
        yield path, "invalid value: an item is there twice, expected different items", False


def of_length(length: int, node: Node, path: str, least: str, most: str, unit: str):
    at_least, at_most = node.schema.get(least, 0), node.schema.get(most)
    if length < at_least:
        yield path, f"invalid length {length}, expected at least {words.count(at_least, unit)}", False
    if at_most is not None and length > at_most:
        yield path, f"invalid length {length}, expected at most {words.count(at_most, unit)}", False


def of_object(value: dict, node: Node, path: str):
    known, others = node.schema.get("properties", {}), node.schema.get("additionalProperties", True)
    for name, item in value.items():
        within = f"{path}.{name}" if path else name
        if name in known:
            yield from problems(item, node.of(known[name]), within)
        elif others is False:
            yield within, words.unknown_field(name, list(known)), True
        else:
            yield from problems(item, node.of(others), within)
    for name in node.schema.get("required", ()):
        if name not in value:
            yield path, f"missing field `{name}`", False


def same(one, other) -> bool:
    """Returns whether two JSON values are equal: `True` is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other
