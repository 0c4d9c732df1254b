"""A kit for native tests of a plugin: no component is built, no process is started, no request is sent.

    import plugin
    from toolhost import testing

    def test_counts():
        processes = testing.FakeProcesses().starts(testing.FakeProcess().prints("3\\n").exits(0))
        with testing.host(processes=processes) as host:
            assert testing.call("lines", path="a.txt") == {"lines": 3}
        assert host.logged == []
        assert processes.started[0].env == {"FILE": "a.txt"}
"""

import json
from contextlib import contextmanager

from ..errors import ToolError
from ..host import native
from ..host.native import Surroundings
from ..reply import Reply, structured, texts
from ..tool import find
from .cases import run_cases
from .fake_files import FakeFiles
from .fake_http import FakeHttp
from .fake_process import FakeProcess
from .fake_processes import FakeProcesses

__all__ = [
    "FakeFiles",
    "FakeHttp",
    "FakeProcess",
    "FakeProcesses",
    "Surroundings",
    "ToolError",
    "call",
    "host",
    "reply_of",
    "run_cases",
]


@contextmanager
def host(**surroundings):
    """Gives the calls within it these surroundings, and returns them: the fields of `Surroundings`."""
    before = native.surroundings
    native.surroundings = Surroundings(**surroundings)
    try:
        yield native.surroundings
    finally:
        native.surroundings = before


def reply_of(name: str, arguments: dict | str) -> Reply:
    """Calls a tool as the host does, from the text of its arguments. Raises the errors of the tool."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return find(name).call(text)


def call(name: str, /, **arguments):
    """Calls a tool as the host does, and returns the JSON value of its reply, or its texts if it has none."""
    reply = reply_of(name, arguments)
    value = structured(reply)
    return texts(reply) if value is None else value
