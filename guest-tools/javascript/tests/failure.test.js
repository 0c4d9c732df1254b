// Exceptions that no tool catches, as the model and the log have them in each engine.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { isOutOfMemory, lines, summary } from "../toolhost/lib/failure.js";

/** Makes an error with a stack as an engine writes it. */
const thrown = (stack, message = "x is null") => Object.assign(new TypeError(message), { stack });

const QUICKJS = "    at helper (/build/bundle.js:583:26)\n    at run (/build/bundle.js:579:19)\n    at call (/build/bundle.js:513:63)\n";
const STARLINGMONKEY = "helper@bundle.js:583:26\nrun@bundle.js:579:19\ncall@bundle.js:513:63\n";

afterEach(() => delete globalThis.toolhostLines);

test("lines of a bundle are those of its sources", () => {
  globalThis.toolhostLines = { 583: "lib/a.ts:7", 579: "plugin.ts:12" };
  for (const stack of [QUICKJS, STARLINGMONKEY]) {
    assert.equal(summary(thrown(stack)), "TypeError: x is null (lib/a.ts:7)");
    const expected = ["TypeError: x is null", "    at helper (lib/a.ts:7)", "    at run (plugin.ts:12)"];
    assert.deepEqual(lines(thrown(stack)), expected);
  }
});

test("a bundle without its lines has its own", () => {
  for (const stack of [QUICKJS, STARLINGMONKEY]) {
    assert.equal(summary(thrown(stack)), "TypeError: x is null (bundle.js:583)");
  }
});

test("what is thrown need be no error", () => {
  assert.equal(summary("boom"), "thrown: boom");
  assert.equal(summary({ a: 1 }), 'thrown: {"a":1}');
  assert.equal(summary(undefined), "thrown: undefined");
  assert.equal(summary(thrown("", "")), "TypeError");
  const caused = Object.assign(thrown("", "two\nlines"), { cause: new RangeError("deep") });
  assert.deepEqual(lines(caused), ["TypeError: two", "lines", "caused by RangeError: deep"]);
});

test("an engine without memory is told apart", () => {
  const error = Object.assign(new Error("out of memory"), { name: "InternalError" });
  assert.deepEqual([error, null, "out of memory"].map(isOutOfMemory), [true, true, true]);
  assert.deepEqual([new Error("out of memory or so"), undefined, "x"].map(isOutOfMemory), [false, false, false]);
});
