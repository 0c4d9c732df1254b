// Calls a tool with the types that openapi-typescript makes of /openapi.json: `node dist/call.js URL TOKEN`. Prints what the command
// printed.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [url, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url!, headers: { authorization: `Bearer ${token}` } });
const list = await client.GET("/v1/tools");
if (!list.data || !("tools" in list.data)) {
  throw new Error(JSON.stringify(list.error));
}
const first = list.data.tools[0]!;
const schema: Record<string, unknown> = "input_schema" in first ? first.input_schema : first.inputSchema;
if (!("properties" in schema)) {
  throw new Error(JSON.stringify(schema));
}
const { data, error } = await client.PUT("/v1/chats/{chat}/calls/{call}", {
  params: { path: { chat: "chat", call: "1" } },
  body: { tool: "execute", arguments: { command: "echo hello" } },
});
if (error || data.is_error) {
  throw new Error(JSON.stringify(error ?? data));
}
process.stdout.write((data.structured as { output: string }).output);
