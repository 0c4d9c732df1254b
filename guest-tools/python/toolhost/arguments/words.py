"""The words of errors about arguments. They are those of the SDK for Rust."""

import json

from .likeness import jaro_winkler

# How alike an argument's name and an unknown one are at least for the one to be meant.
ALIKE = 0.75

NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


def found(value) -> str:
    """Returns what a value is, with the value itself if it is short."""
    if value is None or isinstance(value, (list, dict)):
        return "null" if value is None else "array" if isinstance(value, list) else "object"
    if isinstance(value, str):
        cut = value if len(value) <= 80 else value[:80] + "…"
        return f"string {json.dumps(cut, ensure_ascii=False)}"
    kind = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "number"
    return f"{kind} `{json.dumps(value)}`"


def expected(node) -> str:
    """Returns what a schema takes, in words."""
    kinds = [kind for kind in NAMES if kind != "null" and node.allows(kind)]
    schema = node.schema
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    if kinds == ["integer"] or kinds == ["number"]:
        return number(NAMES[kinds[0]], schema)
    return one_of([NAMES[kind] for kind in kinds]) if kinds else NAMES["null"]


def number(name: str, schema: dict) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if least is not None and most is not None:
        return f"{name} from {least} to {most}"
    bounds = []
    bounds += [f"{least} or more"] if least is not None else []
    bounds += [f"{most} or less"] if most is not None else []
    bounds += [f"more than {above}"] if above is not None else []
    bounds += [f"less than {below}"] if below is not None else []
    return f"{name} of {' and '.join(bounds)}" if bounds else name


def not_listed(value, values: list) -> str:
    """Says that a value is none of those that a schema lists."""
    if isinstance(value, str):
        return f"unknown variant `{value[:80]}`, expected {listed(values)}"
    return f"invalid value: {found(value)}, expected {listed(values)}"


def listed(values: list) -> str:
    texts = [f"`{one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)}`" for one in values if one is not None]
    if len(texts) > 2:
        return f"one of {', '.join(texts)}"
    return " or ".join(texts)


def one_of(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def unknown_field(name: str, known: list[str]) -> str:
    """Says that an object has no such field."""
    return f"unknown field `{name}`, " + (f"expected {listed(known)}" if known else "there are no fields")


def unknown_argument(unknown: str, names: list[str]) -> str:
    """Says that there is no such argument, and which one may be meant."""

    def alike(name: str) -> float:
        is_part = min(len(unknown), len(name)) >= 3 and (unknown in name or name in unknown)
        return max(jaro_winkler(unknown, name), ALIKE if is_part else 0.0)

    nearest = max(names, key=alike, default=None)
    meant = f"; did you mean `{nearest}`?" if nearest is not None and alike(nearest) >= ALIKE else "."
    known = f"The arguments are {', '.join(f'`{name}`' for name in names)}." if names else "This tool takes none."
    return f"there is no argument `{unknown}`{meant} {known}"


def count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
