// Tools from their descriptions.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Failed, Reply, t, tool, tools } from "../toolhost/index.js";
import { defined } from "../toolhost/lib/tool.js";
import { replyOf, structured, texts } from "../toolhost/lib/reply.js";
import { call } from "../toolhost/testing.js";

let before;
beforeEach(() => {
  before = [...defined];
  defined.clear();
});
afterEach(() => {
  defined.clear();
  for (const [name, one] of before) defined.set(name, one);
});

test("every type has its schema", () => {
  const { inputSchema } = tool({
    name: "all_types",
    description: "Does it all.",
    input: {
      text: t.string("The text.", { minLength: 1 }),
      number: t.number().optional(),
      many: t.integer("How many", { minimum: 1 }).default(3),
      way: t.enum(["north", "south"], "Where to"),
      edits: t.array(t.object({ line: t.integer(), all: t.boolean().optional() }), "Changes", { maxItems: 2 }),
      counts: t.record(t.integer()),
      note: t.string().nullable(),
      either: t.union(t.integer(), t.string()).describe("One of both"),
      fixed: t.literal("x"),
      raw: t.schema({ type: "string", format: "uri" }),
      anything: t.any().optional(),
    },
    run: () => "",
  });
  const { properties } = inputSchema;
  assert.deepEqual(properties.text, { type: "string", minLength: 1, description: "The text." });
  assert.deepEqual(properties.many, { type: "integer", minimum: 1, description: "How many", default: 3 });
  assert.deepEqual(properties.way, { type: "string", enum: ["north", "south"], description: "Where to" });
  assert.deepEqual(properties.edits.items.required, ["line"]);
  assert.equal(properties.edits.items.additionalProperties, false);
  assert.deepEqual(properties.counts, { type: "object", additionalProperties: { type: "integer" } });
  assert.deepEqual(properties.note, { type: ["string", "null"] });
  assert.deepEqual(properties.either, { anyOf: [{ type: "integer" }, { type: "string" }], description: "One of both" });
  assert.deepEqual(properties.fixed, { const: "x" });
  assert.deepEqual(properties.raw, { type: "string", format: "uri" });
  assert.deepEqual(inputSchema.required, ["text", "way", "edits", "counts", "note", "either", "fixed", "raw"]);
});

test("a schema may be given as it is", () => {
  const input = { type: "object", properties: { text: { type: "string" }, times: { type: "integer", default: 2 } } };
  tool({ name: "raw", description: "Repeats.", input, run: ({ text, times }) => text.repeat(times) });
  assert.deepEqual(defined.get("raw").inputSchema, input);
  assert.equal(call("raw", { text: "ab" }), "abab");
});

test("the export describes tools as the contract has them", () => {
  tool({
    name: "one",
    description: "Does it.",
    readOnly: true,
    maxDuration: 1.5,
    input: { text: t.string() },
    output: { length: t.integer() },
    examples: [{ arguments: { text: "a" } }],
    resources: [{ uri: "docs:{page}", name: "page" }],
    run: ({ text }) => ({ length: text.length }),
  });
  const [one] = tools.listTools();
  assert.deepEqual(one.hints, { readOnly: true, nonDestructive: true, idempotent: false, closedWorld: false });
  assert.equal(one.maxDurationMs, 1500);
  assert.equal(one.title, undefined);
  assert.deepEqual(one.examples, [{ name: '{"text":"a"}', arguments: '{"text":"a"}', isError: false }]);
  assert.deepEqual(JSON.parse(one.outputSchema).required, ["length"]);
  assert.deepEqual(one.extra, [["resources", '[{"uri":"docs:{page}","name":"page"}]']]);
});

test("the export runs calls, and throws errors of the contract", async () => {
  const run = ({ how }) => {
    if (how === "fail") throw new Failed("it failed");
    if (how === "break") throw new TypeError("no");
    return how === "later" ? Promise.resolve("late") : "now";
  };
  tool({ name: "one", description: "Does it.", input: { how: t.string() }, run });
  const callTool = (how, name = "one") => tools.callTool({ id: "c", tool: name, arguments: JSON.stringify({ how }) });
  assert.deepEqual(callTool("now"), { content: [{ tag: "text", val: "now" }], isError: false, extra: [] });
  assert.deepEqual((await callTool("later")).content, [{ tag: "text", val: "late" }]);
  const thrown = (...given) => {
    try {
      callTool(...given);
    } catch (error) {
      return error;
    }
    throw new Error("it must throw");
  };
  assert.deepEqual(thrown("fail"), { tag: "failed", val: "it failed" });
  assert.deepEqual(thrown("now", "two"), { tag: "unknown-tool", val: "two" });
  assert.deepEqual(thrown(1).tag, "invalid-arguments");
  const broken = thrown("break");
  assert.equal(broken.tag, "failed");
  assert.match(broken.val, /^TypeError: no \(tool.test.js:\d+\)$/);
});

test("what the host would refuse is refused at once", () => {
  const run = () => "";
  for (const name of ["Read", "a__b", "a_", "1a", "a-b", "ä", "a".repeat(32), undefined]) {
    assert.throws(() => tool({ name, description: "Does it.", run }), { message: /is no name of a tool/ });
  }
  assert.throws(() => tool({ name: "a", run }), { message: /has no description/ });
  assert.throws(() => tool({ name: "a", description: "Does it." }), { message: /has no function run/ });
  assert.throws(() => tool({ name: "a", description: "Does it.", input: { type: "array" }, run }), { message: /an object/ });
  tool({ name: "a", description: "Does it.", run });
  assert.throws(() => tool({ name: "a", description: "Does it.", run }), { message: 'two tools have the name "a"' });
});

test("results become replies", () => {
  assert.equal(texts(replyOf("text")), "text");
  assert.deepEqual(replyOf(undefined).parts, []);
  assert.deepEqual(structured(replyOf({ ü: [1] })), { ü: [1] });
  assert.deepEqual(structured(replyOf(null)), null);
  const reply = new Reply("see").image(new Uint8Array([1]), "image/png").document("docs:a");
  assert.deepEqual(replyOf(reply).parts.map(({ tag }) => tag), ["text", "image", "document"]);
  assert.equal(Reply.error("no").isError, true);
  const loop = {};
  loop.loop = loop;
  for (const value of [loop, () => 1, 1n]) assert.throws(() => replyOf(value), { name: "Failed", message: /as JSON/ });
});

test("half of a surrogate pair in a text is replaced", () => {
  const reply = replyOf("a\ud800b \ud83d\ude00 \udc00");
  assert.equal(texts(reply), "a\ufffdb \ud83d\ude00 \ufffd");
  assert.equal(texts(Reply.error("\udc00")), "\ufffd");
});
