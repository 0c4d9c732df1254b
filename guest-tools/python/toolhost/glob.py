"""Patterns of paths: `*` and `?` stand for characters of one name, and `**` for any number of directories."""

import re


class Pattern:
    """A pattern, in the directory from which the search begins, and the parts below it."""

    def __init__(self, text: str):
        parts = text.split("/")
        if parts[-1] in ("", "**"):
            parts[-1:] = ["**", "*"]
        fixed = 0
        while fixed < len(parts) - 1 and not set(parts[fixed]) & set("*?"):
            fixed += 1
        self.directory = "/".join(parts[:fixed]) or ("/" if text.startswith("/") else ".")
        self.parts = [part for part in parts[fixed:] if part != "."]
        self.enters_hidden = any(part.startswith(".") for part in self.parts)

    def goes_into(self, names: list[str]) -> bool:
        """Returns whether files below this directory can fit."""
        if names[-1].startswith(".") and not self.enters_hidden:
            return False
        return "**" in self.parts or len(names) < len(self.parts)

    def fits(self, names: list[str]) -> bool:
        """Returns whether the path of a file below the directory fits."""
        return fits(self.parts, names)


def fits(parts: list[str], names: list[str]) -> bool:
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**":
        return fits(parts[1:], names) or (not names[0].startswith(".") and fits(parts, names[1:]))
    return fits_name(parts[0], names[0]) and fits(parts[1:], names[1:])


def fits_name(part: str, name: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    wild = {"*": ".*", "?": "."}
    return re.fullmatch("".join(wild.get(c) or re.escape(c) for c in part), name, re.DOTALL) is not None
