"""The first line of a file."""

from toolhost import files, tool


@tool(read_only=True)
def first_line(path: str) -> str:
    """Returns the first line of a file of the workspace.

    path: The path: absolute, or relative to the workspace.
    """
    text = files.read(path, 0, 4096).data.decode(errors="replace")
    return text.partition("\n")[0]
