"""From the text of a call's arguments to JSON values that fit a schema, with errors that a model can act on."""

import json

from ..errors import InvalidArguments
from . import check, plain


def parse(text: str, schema: dict) -> dict:
    """Reads the arguments of a call, in any way in which models write them (see `plain`).

    Raises `InvalidArguments`, which names the argument that does not fit.
    """
    try:
        written = json.loads(text if text.strip() else "{}", parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"invalid arguments: {error}") from None
    arguments = plain.Node.of_root(schema).plain(written)
    problem = check.problem(arguments, plain.Node.of_root(schema))
    if problem is not None:
        raise InvalidArguments(problem)
    return arguments


def refuse(name: str):
    raise ValueError(f"{name} is no JSON value")
