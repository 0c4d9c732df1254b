// Tests of the plugin, without a component: `toolhost plugin test` bundles this file for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";
import { call, runCases } from "toolhost/testing";
{{#grants}}
import { withHost } from "toolhost/testing";
{{/grants}}
{{#processes}}
import { FakeProcess, FakeProcesses } from "toolhost/testing";
{{/processes}}
{{#files}}
import { FakeFiles } from "toolhost/testing";
{{/files}}
{{#http}}
import { FakeHttp } from "toolhost/testing";
{{/http}}
import "./plugin.ts";

test("cases", async () => {
  await runCases("cases.json");
});

test("line ends separate words", () => {
  assert.deepEqual(call("{{name}}", { text: "one\ntwo three" }), { words: 3 });
});
{{#processes}}

test("a path is only a path", () => {
  const processes = new FakeProcesses().starts(new FakeProcess().prints("12K\ta $(b)\n").exits(0));
  assert.equal(withHost({ processes }, () => call("disk_usage", { path: "a $(b)" })), "12K");
  assert.deepEqual(processes.started[0].env, { TARGET: "a $(b)" });
});
{{/processes}}
{{#files}}

test("the rest of the file is left out", () => {
  const files = new FakeFiles({ "a.txt": "one\ntwo\n" });
  assert.equal(withHost({ files }, () => call("first_line", { path: "a.txt" })), "one");
});
{{/files}}
{{#http}}

test("the title is found", async () => {
  const http = new FakeHttp().responds("https://example.com", { body: "<html><title>A page</title></html>" });
  assert.equal(await withHost({ http }, () => call("page_title", { url: "https://example.com" })), "A page");
});
{{/http}}
