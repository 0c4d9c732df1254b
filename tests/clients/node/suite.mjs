// Runs the server scenarios of MCP's conformance suite and prints what came of each as JSON: `suite.mjs SERVER TOKEN`.
//
// The suite has no tokens, so that it talks to a proxy, which adds one and changes nothing else.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [server, token] = process.argv.slice(2);
const { hostname, port } = new URL(server);

const proxy = createServer((from, answer) => {
  const headers = { ...from.headers, authorization: `Bearer ${token}` };
  const to = request({ hostname, port, method: from.method, path: from.url, headers }, (response) => {
    answer.writeHead(response.statusCode, response.headers);
    // An event stream begins with its head.
    answer.flushHeaders();
    response.pipe(answer);
    response.on("error", () => answer.destroy());
  });
  to.on("error", () => answer.destroy());
  answer.on("close", () => to.destroy());
  from.pipe(to);
});
await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));

const results = mkdtempSync(join(tmpdir(), "conformance-"));
try {
  const suite = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));
  const url = `http://127.0.0.1:${proxy.address().port}/mcp`;
  const options = ["server", "--url", url, "--suite", "all", "--output-dir", results];
  const child = spawn(process.execPath, [suite, ...options], { stdio: ["ignore", "ignore", "inherit"] });
  await new Promise((ended) => child.on("close", ended));
  const scenarios = {};
  for (const directory of readdirSync(results)) {
    const name = directory.replace(/^server-/, "").replace(/-\d{4}-\d{2}-\d{2}T.*$/, "");
    const checks = JSON.parse(readFileSync(join(results, directory, "checks.json")));
    const failed = checks.filter(({ status }) => status === "FAILURE");
    scenarios[name] = failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`);
  }
  console.log(JSON.stringify(scenarios));
} finally {
  rmSync(results, { recursive: true });
  proxy.close();
  proxy.closeAllConnections();
}
