// A server with one trivial tool, as the official SDK for TypeScript makes it: what `toolhost mcp` is compared with.

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "peer", version: "1" });
server.registerTool("t", { description: "Says hello." }, () => ({ content: [{ type: "text", text: "hello" }] }));
await server.connect(new StdioServerTransport());
