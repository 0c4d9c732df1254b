// A server with one trivial tool, as the official SDK for TypeScript makes it: what `toolhost mcp` is compared with.

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "peer", version: "1" });
const echo = { description: "Returns its text.", inputSchema: { text: z.string() } };
server.registerTool("echo", echo, ({ text }) => ({ content: [{ type: "text", text }] }));
await server.connect(new StdioServerTransport());
