// Tests of the plugin, without a component: `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { call, runCases, withHost } from "toolhost/testing";
import "./plugin.js";

test("cases", async () => {
  assert.equal(await runCases(new URL("cases.json", import.meta.url)), 3);
});

test("a relative URL is relative to the base of the operator", () => {
  const settings = { base_url: "https://example.org/docs/" };
  const { href } = withHost({ settings }, () => call("parse_url", { url: "../api" }));
  assert.equal(href, "https://example.org/api");
});

test("nothing is picked twice", () => {
  const items = ["a", "b", "c", "d"];
  const { picked } = call("pick", { items, count: 4 });
  assert.deepEqual(picked.sort(), items);
});
