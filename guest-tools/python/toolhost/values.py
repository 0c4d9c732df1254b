"""Values of Python from JSON, and back."""

import enum
import types
import typing
from typing import Annotated, Union

from . import schema
from .arguments import plain


def read(value, hint):
    """Returns a JSON value, which fits the schema of a type, as a value of that type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Annotated, typing.Required, typing.NotRequired):
        return read(value, arguments[0])
    if origin in (Union, types.UnionType):
        return read(value, alternative(value, arguments))
    if hint is float and isinstance(value, int):
        return float(value)
    if isinstance(value, list):
        return sequence(value, origin or hint, arguments)
    if isinstance(value, dict):
        if origin is dict:
            return {key: read(item, arguments[1]) for key, item in value.items()}
        if schema.is_record(hint):
            hints = typing.get_type_hints(hint, include_extras=True)
            fields = {key: read(item, hints.get(key)) for key, item in value.items()}
            return hint(**fields)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    return value


def alternative(value, hints: tuple):
    """Returns the type of several that a value is written for."""
    fitting = [hint for hint in hints if plain.Node.of_root(schema.of(hint)).is_meant_by(value)]
    return fitting[0] if fitting else hints[0]


def sequence(value: list, kind, arguments: tuple):
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        return tuple(read(item, hint) for item, hint in zip(value, arguments))
    items = [read(item, arguments[0]) for item in value] if arguments else value
    return kind(items) if kind in (tuple, set, frozenset) else items


def well_formed(text: str) -> str:
    """Returns a text with U+FFFD for each half of a surrogate pair that stands alone: UTF-8 has no bytes for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text
