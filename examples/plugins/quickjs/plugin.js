// A plugin in JavaScript for QuickJS: small and quick to start, and without the interfaces of the web (no URL, no TextDecoder,
// no console). `Math.random()` gives the same numbers in every call, since its seed is part of the component.

import { get } from "toolhost:plugin/settings@0.1.0";
import { remainingMs } from "toolhost:plugin/context@0.1.0";
import { start } from "toolhost:plugin/processes@0.1.0";

const MAX_WAIT_MS = 30_000;

/** An error that the model reads and can act on: what is thrown and is no `Error` becomes the error of the function. */
const invalid = (text) => ({ tag: "invalid-arguments", val: text });

const slugify = {
  definition: {
    name: "slugify",
    title: "Slug of a text",
    description:
      "Turns a title into a slug for addresses and file names: lower case, without accents, words joined by a separator.",
    inputSchema: JSON.stringify({
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, description: "The title" },
        separator: { type: "string", enum: ["-", "_"], default: "-", description: "What joins words" },
      },
      required: ["text"],
      additionalProperties: false,
    }),
    outputSchema: JSON.stringify({
      type: "object",
      properties: { slug: { type: "string" } },
      required: ["slug"],
    }),
    hints: { readOnly: true, nonDestructive: true, idempotent: true, closedWorld: true },
    examples: [
      { name: "a title", arguments: '{"text": "Crème brûlée, très facile!"}', isError: false },
      { name: "nothing left", arguments: '{"text": "!?"}', isError: true },
    ],
    extra: [],
  },
  run({ text, separator = "-" }) {
    if (typeof text !== "string") throw invalid("text is required, and must be a string");
    if (separator !== "-" && separator !== "_") throw invalid('separator must be "-" or "_"');
    // A setting that is no number is the operator's mistake and no model can mend it, so nothing catches this: the call ends,
    // and the operator finds the error in the log.
    const most = Number(get("max_length") ?? 80);
    if (!Number.isInteger(most) || most < 1) throw new Error("the setting max_length must be a whole number above 0");
    const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const words = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
    if (words.length === 0) throw invalid("text has no letters and no digits");
    let slug = words.shift();
    for (const word of words) {
      if (slug.length + separator.length + word.length > most) break;
      slug += separator + word;
    }
    return { slug: slug.slice(0, most) };
  },
};

const diskUsage = {
  definition: {
    name: "disk_usage",
    title: "Size of a directory",
    description: "Measures how much a file or directory of the workspace takes on disk, in KiB.",
    inputSchema: JSON.stringify({
      type: "object",
      properties: {
        path: { type: "string", default: ".", description: "Absolute, or relative to the workspace" },
      },
      additionalProperties: false,
    }),
    outputSchema: JSON.stringify({
      type: "object",
      properties: {
        path: { type: "string" },
        kib: { type: "integer" },
        at_ms: { type: "integer", description: "Milliseconds since 1970" },
      },
      required: ["path", "kib", "at_ms"],
    }),
    hints: { readOnly: true, nonDestructive: true, idempotent: true, closedWorld: true },
    examples: [{ name: "the workspace", arguments: "{}", isError: false }],
    extra: [],
  },
  run({ path = "." }) {
    if (typeof path !== "string" || path === "" || path.includes("\0")) {
      throw invalid("path must be a string that is not empty");
    }
    // A variable, and not a part of the command: no path can be more than a path.
    const process = start({
      command: 'exec du -sk -- "$TARGET"',
      env: [["TARGET", path]],
      background: false,
      // It only looks.
      without: { write: true, network: true },
    });
    const timeoutMs = Math.min(MAX_WAIT_MS, Number(remainingMs()) / 2);
    const { wake } = process.wait({ timeoutMs: Math.floor(timeoutMs), since: 0, output: false });
    const { state, head } = process.snapshot();
    const output = ascii(head).trim();
    if (wake === "timed-out" || wake === "clamped" || wake === "cancelled") {
      process.signal("terminate");
      throw { tag: "failed", val: `measuring ${path} took too long` };
    }
    if (state.tag !== "exited" || state.val.code !== 0) throw { tag: "failed", val: output || "du failed" };
    return { path, kib: Number.parseInt(output, 10), at_ms: Date.now() };
  },
};

/** There is no TextDecoder: this shows what is not ASCII as a question mark. */
function ascii(bytes) {
  return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : "?")).join("");
}

const all = [slugify, diskUsage];

/** What the component exports. */
export const tools = {
  listTools() {
    return all.map((tool) => tool.definition);
  },
  callTool(call) {
    const tool = all.find(({ definition }) => definition.name === call.tool);
    if (tool === undefined) throw { tag: "unknown-tool", val: call.tool };
    // The host made sure that this is the text of one JSON object.
    const given = JSON.parse(call.arguments);
    const known = JSON.parse(tool.definition.inputSchema).properties;
    const unknown = Object.keys(given).filter((name) => !Object.hasOwn(known, name));
    if (unknown.length > 0) throw invalid(`unknown arguments: ${unknown.sort().join(", ")}`);
    const json = JSON.stringify(tool.run(given));
    return { content: [{ tag: "json", val: json }], isError: false, extra: [] };
  },
};
