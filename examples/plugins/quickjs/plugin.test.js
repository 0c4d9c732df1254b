// Tests of the plugin, without a component: `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeProcess, FakeProcesses, call, runCases, withHost } from "toolhost/testing";
import "./plugin.js";

test("cases", async () => {
  assert.equal(await runCases(new URL("cases.json", import.meta.url)), 3);
});

test("a path is only a path", () => {
  const processes = new FakeProcesses().starts(new FakeProcess().prints("12\ta $(b)\n").exits(0));
  const { path, kib } = withHost({ processes }, () => call("disk_usage", { path: "a $(b)" }));
  assert.deepEqual([path, kib], ["a $(b)", 12]);
  assert.deepEqual(processes.started[0].env, { TARGET: "a $(b)" });
});

test("what du prints is the reason of a failure", () => {
  const processes = new FakeProcesses().starts(new FakeProcess().prints("du: no such file\n").exits(1));
  withHost({ processes }, () => {
    assert.throws(() => call("disk_usage"), { kind: "failed", message: "du: no such file" });
  });
});
