// Arguments as models write them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { InvalidArguments } from "../toolhost/index.js";
import { withDefaults } from "../toolhost/lib/arguments/defaults.js";
import { parse } from "../toolhost/lib/arguments/parse.js";

const shared = JSON.parse(readFileSync(new URL("../../arguments.json", import.meta.url), "utf8"));

test("the cases that all languages share", () => {
  for (const [text, expected] of shared.cases) {
    let found;
    try {
      found = parse(text, shared.schema);
    } catch (error) {
      assert.ok(error instanceof InvalidArguments, String(error));
      found = error.message;
    }
    assert.deepEqual(found, expected, text);
  }
});

test("plain arguments stay", () => {
  const once = parse('{"path": "", "line": "1.0", "edits": "[{\\"line\\": 1e0}]", "deep": ""}', shared.schema);
  assert.deepEqual(parse(JSON.stringify(once), shared.schema), once);
});

test("what is no JSON is refused", () => {
  for (const text of ["{", "{} {}", '{"a": NaN}']) {
    assert.throws(() => parse(text, { type: "object" }), { name: "InvalidArguments", message: /^invalid arguments: / });
  }
});

test("names of the language are names of arguments like others", () => {
  const found = parse('{"__proto__": 1, "constructor": "2", "toString": null}', { type: "object" });
  assert.deepEqual(Object.entries(found), [["__proto__", 1], ["constructor", "2"], ["toString", null]]);
  assert.throws(() => parse('{"toString": 1}', { type: "object", properties: {}, additionalProperties: false }), {
    message: "invalid arguments: there is no argument `toString`. This tool takes none.",
  });
});

test("what is missing gets its default, at any depth", () => {
  const inner = { type: "object", properties: { size: { type: "integer", default: 3 } } };
  const schema = { type: "object", properties: { items: { type: "array", items: inner }, name: { default: "x" } } };
  assert.deepEqual(withDefaults({ items: [{}, { size: 1 }] }, schema), { items: [{ size: 3 }, { size: 1 }], name: "x" });
});
