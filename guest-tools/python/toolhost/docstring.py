"""Docstrings: the description of a tool, and lines in the form `name: text` that describe its arguments."""

import inspect
import re

ARGUMENT = re.compile(r"(\w+):\s+(.*)")


def read(function, names: list[str]) -> tuple[str, dict[str, str]]:
    """Returns the description, and the texts of the arguments that are among `names`.

    A text goes on in lines that are indented further.
    """
    lines = inspect.cleandoc(function.__doc__ or "").splitlines()
    description: list[str] = []
    arguments: dict[str, list[str]] = {}
    current = None
    for line in lines:
        found = ARGUMENT.fullmatch(line)
        if found and found[1] in names:
            current = arguments.setdefault(found[1], [])
            current.append(found[2])
        elif current is not None and line.startswith((" ", "\t")):
            current.append(line.strip())
        else:
            current = None
            description.append(line)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(description)).strip()
    return text, {name: " ".join(parts) for name, parts in arguments.items()}
