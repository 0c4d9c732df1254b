"""Calls a tool with the client that openapi-python-client makes of /openapi.json.

    python call.py URL TOKEN

Prints what the command printed.
"""

import sys

from toolhost_client import AuthenticatedClient
from toolhost_client.api.calls import call_tool
from toolhost_client.api.tools import list_tools
from toolhost_client.models import CallRequest, JsonTools, Outcome


def main(url: str, token: str) -> None:
    client = AuthenticatedClient(base_url=url, token=token)
    tools = list_tools.sync(client=client)
    assert isinstance(tools, JsonTools), tools
    assert "command" in tools.tools[0].input_schema["properties"]
    arguments = {"command": "echo hello"}
    body = CallRequest(tool="execute", arguments=arguments)
    outcome = call_tool.sync("chat", "1", client=client, body=body)
    assert isinstance(outcome, Outcome) and not outcome.is_error, outcome
    assert isinstance(outcome.structured, dict), outcome
    print(outcome.structured["output"], end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
