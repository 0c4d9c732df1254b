// The official TypeScript clients of MCP against Toolhost: lists the tools, calls some, prints what it got as JSON.
//
// `mcp_client.mjs REVISION stdio PROGRAM ARGUMENT…` or `… http URL TOKEN`. Revision 2025-11-25 is spoken by
// `@modelcontextprotocol/sdk`, 2026-07-28 by its successor `@modelcontextprotocol/client`.

const [revision, kind, ...target] = process.argv.slice(2);
const info = { name: "toolhost-tests", version: "1" };

async function parts() {
  if (revision === "2025-11-25") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const call = (client, params, options) => client.callTool(params, undefined, options);
    return { client: new Client(info), call, StdioClientTransport, StreamableHTTPClientTransport };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const client = new Client(info, { versionNegotiation: { mode: { pin: revision } } });
  const call = (client, params, options) => client.callTool(params, options);
  return { client, call, StdioClientTransport, StreamableHTTPClientTransport };
}

const { client, call, StdioClientTransport, StreamableHTTPClientTransport } = await parts();
let transport;
if (kind === "stdio") {
  transport = new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit" });
} else {
  const headers = { authorization: `Bearer ${target[1]}`, "toolhost-structured": "true" };
  transport = new StreamableHTTPClientTransport(new URL(target[0]), { requestInit: { headers } });
}
let spoken;
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  spoken = version;
  setProtocolVersion?.(version);
};
await client.connect(transport);

// Progress is counted where it arrives: the SDK hands out a notification one microtask after its arrival, but forgets the handler as
// soon as the response arrives, so it drops the last notification if both come in one chunk (`_onnotification` and `_onresponse` in
// its shared/protocol.js).
const progress = [];
const deliver = transport.onmessage;
transport.onmessage = (message, extra) => {
  if (message.method === "notifications/progress") {
    progress.push([message.params.progress, message.params.total]);
  }
  deliver(message, extra);
};

const { tools } = await client.listTools();
const tool = (name, args, options) => call(client, { name, arguments: args }, options);
const execute = await tool("execute", { command: "echo hello" });
await tool("test_tool_with_progress", {}, { onprogress: () => {} });
const mixed = await tool("test_multiple_content_types", {});
const failed = await tool("test_error_handling", {});
const refused = await tool("execute", { comand: "true" });
await client.close();

const described = ({ name, title, annotations, outputSchema }) => [
  name,
  { title: title ?? null, read_only: annotations?.readOnlyHint, has_output_schema: outputSchema !== undefined },
];
console.log(
  JSON.stringify({
    revision: client.getNegotiatedProtocolVersion?.() ?? spoken,
    tools: Object.fromEntries(tools.map(described)),
    structured: execute.structuredContent,
    text: execute.content[0].text,
    progress,
    mixed: mixed.content.map((part) => part.type),
    document: mixed.content[2].resource.text,
    failed: [failed.isError, failed.content[0].text],
    refused: [refused.isError, refused.content[0].text],
  }),
);
