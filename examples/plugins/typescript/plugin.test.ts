// Tests of the plugin, without a component. esbuild makes JavaScript of them for `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles, call, runCases, withHost } from "toolhost/testing";
import "./plugin.js";

test("cases", async () => {
  assert.equal(await runCases("cases.json", { files: new FakeFiles() }), 2);
});

test("notes have their lines", () => {
  const files = new FakeFiles({ "a.txt": "one\n  TODO: two\n", "b.txt": "three", "sub/c.txt": "TODO" });
  const host = withHost({ files }, (host) => {
    const notes = [{ path: "./a.txt", line: 2, text: "TODO: two" }];
    assert.deepEqual(call("find_notes"), { notes, files: 2 });
    return host;
  });
  assert.deepEqual(host.logged, ["debug: 1 notes in 2 files"]);
});
