"""The official Python client of MCP, or fastmcp's, against Toolhost: lists the tools, calls some, prints what it got as JSON.

`mcp_client.py official|fastmcp REVISION stdio PROGRAM ARGUMENT…` or `… http URL TOKEN`.
"""

import asyncio
import json
import sys

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client


STRUCTURED = {"toolhost-structured": "true"}


def official(mode, kind, target):
    if kind == "stdio":
        return mcp.Client(mcp.StdioServerParameters(command=target[0], args=target[1:]), mode=mode)
    url, token = target
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}", **STRUCTURED}, timeout=60)
    return mcp.Client(streamable_http_client(url, http_client=http), mode=mode)


class Fast(fastmcp.Client):
    """fastmcp's client with the names of the official one."""

    async def list_tools(self):
        return await self.list_tools_mcp()

    async def call_tool(self, name, arguments, progress_callback=None):
        return await self.call_tool_mcp(name, arguments, progress_handler=progress_callback)

    @property
    def protocol_version(self):
        return self.session.protocol_version


def fast(mode, kind, target):
    if kind == "stdio":
        return Fast(StdioTransport(target[0], target[1:], keep_alive=False), mode=mode)
    url, token = target
    return Fast(StreamableHttpTransport(url, headers=STRUCTURED, auth=token), mode=mode)


async def main(which, revision, kind, *target):
    mode = "legacy" if revision == "2025-11-25" else revision
    make = {"official": official, "fastmcp": fast}[which]
    async with make(mode, kind, list(target)) as client:
        tools = (await client.list_tools()).tools
        execute = await client.call_tool("execute", {"command": "echo hello"})
        progress = []

        async def report(done, total, message):
            progress.append([done, total])

        await client.call_tool("test_tool_with_progress", {}, progress_callback=report)
        mixed = await client.call_tool("test_multiple_content_types", {})
        failed = await client.call_tool("test_error_handling", {})
        refused = await client.call_tool("execute", {"comand": "true"})
        found = {
            "revision": client.protocol_version,
            "tools": {
                tool.name: {
                    "title": tool.title,
                    "read_only": tool.annotations and tool.annotations.read_only_hint,
                    "has_output_schema": tool.output_schema is not None,
                }
                for tool in tools
            },
            "structured": execute.structured_content,
            "text": execute.content[0].text,
            "progress": progress,
            "mixed": [part.type for part in mixed.content],
            "document": mixed.content[2].resource.text,
            "failed": [failed.is_error, failed.content[0].text],
            "refused": [refused.is_error, refused.content[0].text],
        }
    print(json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
