"""A server with one trivial tool, as the official SDK for Python makes it: what `toolhost mcp` is compared with."""

from mcp.server import MCPServer

server = MCPServer("peer")


@server.tool()
def echo(text: str) -> str:
    """Returns its text."""
    return text


server.run("stdio")
