"""The size of a directory, which a command measures."""

from toolhost import Failed, processes, tool


@tool(read_only=True)
def disk_usage(path: str) -> str:
    """Measures how much a file or directory of the workspace takes on disk.

    path: The path: absolute, or relative to the workspace.
    """
    # A variable, and not a part of the command: no path can be more than a path.
    done = processes.run('exec du -sh -- "$TARGET"', env={"TARGET": path}, timeout=30)
    if done.state.code != 0:
        raise Failed(f"du failed: {done.text.strip()}")
    return done.text.split("\t")[0]
