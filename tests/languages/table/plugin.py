"""The tools of the table in Python: what every language must do alike."""

from typing import Annotated, Literal

from toolhost import (
    Denied,
    Failed,
    InvalidArguments,
    Range,
    Reply,
    Unavailable,
    context,
    files,
    http,
    log,
    processes,
    progress,
    settings,
    tool,
)

ERRORS = {"invalid": InvalidArguments, "denied": Denied, "unavailable": Unavailable, "failed": Failed}


@tool(read_only=True, idempotent=True, title="Echo", max_duration=60, examples=[{"text": "a"}])
def echo(text: str, times: Annotated[int, "How often.", Range(1, 3)] = 1, note: str | None = None) -> str:
    """Repeats a text.

    text: The text.
    """
    return text * times + (note or "")


@tool(read_only=True)
def big(kib: Annotated[int, Range(0)]) -> str:
    """Replies with a text of this many KiB."""
    return "x" * (kib << 10)


@tool(read_only=True)
def parts() -> Reply:
    """Replies with parts of every kind."""
    return Reply("é").json({"ü": [1, None]}).image(b"\x00\xff", "image/png").document("docs:a", b"d", "text/plain").document("docs:b")


@tool(read_only=True)
def fail(how: Literal["invalid", "denied", "unavailable", "failed", "reply", "broken"]) -> Reply:
    """Fails in one of several ways."""
    if how in ERRORS:
        raise ERRORS[how](f"é {how}")
    if how == "broken":
        raise RuntimeError("é broken")
    return Reply.error("é reply")


@tool(read_only=True)
def tell() -> str:
    """Writes to the log, and reports progress."""
    for write in (log.debug, log.info, log.warn, log.error):
        write("told é")
    print("printed é")
    progress.report(0, 2)
    progress.report(1, 2, "half é")
    progress.report(2, 2)
    return "told"


@tool(read_only=True)
def surroundings() -> dict:
    """Says what the call sees of its host."""
    try:
        secret = settings.secret("key")
    except Denied as error:
        secret = str(error)
    return {
        "chat": context.chat(),
        "root": context.workspace_root(),
        "has_time": 0 < context.remaining() <= 60 * 60,
        "cancelled": context.cancelled(),
        "locale": context.attribute("locale"),
        "setting": settings.get("setting"),
        "other": settings.get("other", "default"),
        "secret": secret,
    }


@tool(read_only=True)
def spin():
    """Computes without end."""
    while True:
        pass


@tool(read_only=True)
def hoard() -> int:
    """Takes memory without end."""
    hoarded = []
    while True:
        hoarded.append("x" * 100_000 + str(len(hoarded)))


@tool
def shell(command: str, env: dict[str, str] = {}, stdin: str | None = None, timeout: float | None = None) -> dict:
    """Runs a command to its end."""
    seen = processes.run(command, env=env, stdin=stdin, timeout=timeout)
    return {"code": seen.state.code, "signal": seen.state.signal, "text": seen.text, "total": seen.total}


@tool
def background(command: str) -> dict:
    """Starts a command, and looks at it in all ways."""
    with processes.start(command, background=True) as process:
        matched = process.wait(60, until="ready")
        chunk = process.read(0, matched.match_end)
        listed, _ = processes.list_processes(running_only=True)
        state = process.signal("kill")
        ended = processes.open(process.id).wait(60)
    return {
        "wake": matched.wake,
        "read": chunk.data.decode(),
        "listed": [info.command for info in listed],
        "before": state.kind,
        "after": ended.state.signal,
        "cause": ended.state.cause,
    }


@tool
def store(path: str, text: str) -> dict:
    """Writes a file, and reads it again."""
    written = files.write(path, text, absent=True)
    again = files.write(path, text + "\n", version=written.version)
    return {
        "size": again.size,
        "text": files.read_text(path),
        "lines": files.skip_lines(path, 0, 99).lines,
        "kind": files.metadata(path).kind,
        "names": [entry.name for entry in files.list_directory()],
        "exists": files.exists("nowhere"),
    }


@tool(read_only=True)
def get(url: str) -> dict:
    """Gets what is at an address."""
    response = http.request("POST", url, json={"k": "é"}, headers={"X-Asked": "yes"})
    return {"status": response.status, "type": response.headers["content-type"], "text": response.text}
