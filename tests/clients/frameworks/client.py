"""Clients of MCP for Python, as agents use them, against Toolhost over HTTP: prints what they got as JSON.

`client.py CLIENT URL TOKEN CHAT WORKSPACE`. The clients and how each sets a header are in `CLIENTS`. Once the program prints `ready`, it
waits for a line, and goes on with whichever server is at the address then.
"""

import asyncio
import json
import os
import pathlib
import sys
from contextlib import asynccontextmanager


@asynccontextmanager
async def mcp_1(url, headers):
    import httpx
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        mcp.ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def call(name, arguments):
            result = await session.call_tool(name, arguments)
            return result.isError, result.content[0].text

        yield [tool.name for tool in (await session.list_tools()).tools], call


def mcp_2(mode):
    @asynccontextmanager
    async def connect(url, headers):
        import httpx2
        import mcp
        from mcp.client.streamable_http import streamable_http_client

        http = httpx2.AsyncClient(headers=headers, timeout=60)
        async with mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client:

            async def call(name, arguments):
                result = await client.call_tool(name, arguments)
                return result.is_error, result.content[0].text

            yield [tool.name for tool in (await client.list_tools()).tools], call

    return connect


@asynccontextmanager
async def fastmcp(url, headers):
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    async with Client(StreamableHttpTransport(url, headers=headers)) as client:

        async def call(name, arguments):
            result = await client.call_tool(name, arguments, raise_on_error=False)
            return result.is_error, result.content[0].text

        yield [tool.name for tool in await client.list_tools()], call


@asynccontextmanager
async def openai_agents(url, headers):
    from agents.mcp import MCPServerStreamableHttp

    params = {"url": url, "headers": headers}
    async with MCPServerStreamableHttp(params, client_session_timeout_seconds=120) as server:

        async def call(name, arguments):
            result = await server.call_tool(name, arguments)
            return result.is_error, result.content[0].text

        yield [tool.name for tool in await server.list_tools()], call


@asynccontextmanager
async def pydantic_ai(url, headers):
    from pydantic_ai import ModelRetry
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(url, headers=headers) as toolset:

        async def call(name, arguments):
            try:
                return False, await toolset.direct_call_tool(name, arguments)
            except ModelRetry as error:
                return True, str(error)

        yield [tool.name for tool in await toolset.list_tools()], call


@asynccontextmanager
async def langchain(url, headers):
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"toolhost": {"transport": "http", "url": url, "headers": headers}})
    # Each call of these has a session of its own.
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, arguments):
        message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        return message.status == "error", message.text

    yield list(tools), call


CLIENTS = {
    "mcp-1": mcp_1,
    "mcp-2-legacy": mcp_2("legacy"),
    "mcp-2": mcp_2("2026-07-28"),
    "fastmcp": fastmcp,
    "openai-agents": openai_agents,
    "pydantic-ai": pydantic_ai,
    "langchain-mcp-adapters": langchain,
}


def parsed(result):
    """Reads the text of a result: JSON, which some clients have read already."""
    is_error, text = result
    return [is_error, json.loads(text) if isinstance(text, str) and text.startswith("{") else text]


async def cancelled(call, workspace):
    """Cancels a call whose command runs, and waits until the command has ended."""
    path = pathlib.Path(workspace) / "cancelled"
    path.unlink(missing_ok=True)
    command = "echo $$ > cancelled.new; mv cancelled.new cancelled; exec sleep 1000"
    calling = asyncio.create_task(call("execute", {"command": command, "timeout": "1h"}))
    while not path.exists():
        await asyncio.sleep(0.01)
    calling.cancel()
    try:
        await calling
    except asyncio.CancelledError:
        pass
    while os.path.exists(f"/proc/{int(path.read_text())}"):
        await asyncio.sleep(0.01)
    return True


async def main(which, url, token, chat, workspace):
    connect = CLIENTS[which]
    stranger = {"Authorization": f"Bearer {token}"}
    headers = {**stranger, "Toolhost-Chat": chat}
    command = "echo ready; exec sleep 1000"
    background = {"command": command, "run_in_background": True}
    found = {}
    async with connect(url, headers) as (tools, call):
        found["tools"] = tools
        found["called"] = parsed(await call("execute", {"command": "echo hello"}))
        found["refused"] = await call("execute", {"command": "true", "timeot": "1s"})
        found["started"] = parsed(await call("execute", background))
    process = found["started"][1]["background_process_id"]
    wait = {"process_id": process, "until": "ready"}
    async with connect(url, headers) as (_, call):
        found["read"] = parsed(await call("process_output", wait))
        found["listed"] = parsed(await call("process_list", {}))
        # Version 1 of the library never tells the server.
        found["cancelled"] = which != "mcp-1" and await cancelled(call, workspace)
    async with connect(url, stranger) as (_, call), connect(url, stranger) as (_, other):
        started = parsed(await call("execute", background))
        found["strangers"] = parsed(await other("process_list", {}))
        if which != "langchain-mcp-adapters":
            wait["process_id"] = started[1]["background_process_id"]
            found["own"] = parsed(await call("process_output", wait))
        async with connect(url, headers) as (_, named):
            await named("process_list", {})
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            last = named if which == "langchain-mcp-adapters" else call
            found["outlived"] = parsed(await last("process_output", {"process_id": wait["process_id"]}))
    print(json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
