// Clients of MCP for JavaScript, as agents use them, against Toolhost over HTTP: prints what they got as JSON.
//
// `frameworks.mjs typescript|ai-sdk|mcp-remote URL TOKEN CHAT WORKSPACE`. Once the program prints `ready`, it waits for a line, and goes on
// with whichever server is at the address then.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const [which, url, token, chat, workspace] = process.argv.slice(2);
const stranger = { Authorization: `Bearer ${token}` };
const headers = { ...stranger, "Toolhost-Chat": chat };

async function aiSdk(headers) {
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const client = await createMCPClient({ transport: { type: "http", url, headers } });
  const tools = await client.tools();
  const call = async (name, args, abortSignal) => {
    const result = await tools[name].execute(args, { toolCallId: "1", messages: [], abortSignal });
    return [result.isError ?? false, result.content[0].text];
  };
  return { tools: Object.keys(tools), call, close: () => client.close() };
}

async function mcpRemote(headers) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const client = new Client({ name: "toolhost-tests", version: "1" });
  const proxy = fileURLToPath(import.meta.resolve("mcp-remote/dist/proxy.js"));
  const named = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
  const args = [proxy, url, "--transport", "http-only", ...named];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
  return official(client);
}

async function official(client) {
  const call = async (name, args, signal) => {
    const result = await client.callTool({ name, arguments: args }, undefined, { signal });
    return [result.isError ?? false, result.content[0].text];
  };
  const { tools } = await client.listTools();
  return { tools: tools.map(({ name }) => name), call, close: () => client.close() };
}

async function typescript(headers) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client({ name: "toolhost-tests", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return official(client);
}

const connect = { typescript, "ai-sdk": aiSdk, "mcp-remote": mcpRemote }[which];
const parsed = ([isError, text]) => [isError, JSON.parse(text)];
const background = { command: "echo ready; exec sleep 1000", run_in_background: true };
const found = {};

/** Cancels a call whose command runs, and waits until the command has ended. */
async function cancelled(call) {
  const path = join(workspace, "cancelled");
  const command = "echo $$ > cancelled.new; mv cancelled.new cancelled; exec sleep 1000";
  const abort = new AbortController();
  const calling = call("execute", { command, timeout: "1h" }, abort.signal).catch(() => {});
  while (!existsSync(path)) await sleep(10);
  abort.abort();
  await calling;
  while (existsSync(`/proc/${Number(readFileSync(path))}`)) await sleep(10);
  return true;
}

let client = await connect(headers);
found.tools = client.tools;
found.called = parsed(await client.call("execute", { command: "echo hello" }));
found.refused = await client.call("execute", { command: "true", timeot: "1s" });
found.started = parsed(await client.call("execute", background));
await client.close();

const wait = { process_id: found.started[1].background_process_id, until: "ready" };
client = await connect(headers);
found.read = parsed(await client.call("process_output", wait));
found.listed = parsed(await client.call("process_list", {}));
found.cancelled = await cancelled(client.call);
await client.close();

client = await connect(stranger);
const other = await connect(stranger);
const started = parsed(await client.call("execute", background));
found.strangers = parsed(await other.call("process_list", {}));
wait.process_id = started[1].background_process_id;
found.own = parsed(await client.call("process_output", wait));
console.log("ready");
await new Promise((resolve) => process.stdin.once("data", resolve));
found.outlived = parsed(await client.call("process_output", { process_id: wait.process_id }));
await client.close();
await other.close();
console.log(JSON.stringify(found));
process.exit();
