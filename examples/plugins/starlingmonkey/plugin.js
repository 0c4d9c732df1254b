// A plugin in JavaScript for StarlingMonkey, the engine that has the interfaces of the web: URL, crypto, TextEncoder.

import { get } from "toolhost:plugin/settings@0.1.0";
import { log } from "toolhost:plugin/log@0.1.0";

const MAX_ITEMS = 1000;

/** An error that the model reads and can act on: what is thrown and is no `Error` becomes the error of the function. */
const invalid = (text) => ({ tag: "invalid-arguments", val: text });

const parseUrl = {
  definition: {
    name: "parse_url",
    title: "Parts of a URL",
    description:
      "Takes a URL apart as browsers do, and gives its normal form, host, path and query parameters. " +
      "A relative URL is resolved against `base`, or against the base that the operator set.",
    inputSchema: JSON.stringify({
      type: "object",
      properties: {
        url: { type: "string", description: "The URL, absolute or relative" },
        base: { type: "string", description: "The absolute URL to which a relative one is relative" },
      },
      required: ["url"],
      additionalProperties: false,
    }),
    outputSchema: JSON.stringify({
      type: "object",
      properties: {
        href: { type: "string" },
        scheme: { type: "string" },
        host: { type: "string" },
        path: { type: "string" },
        query: { type: "array", items: { type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 } },
        fragment: { type: "string" },
      },
      required: ["href", "scheme", "host", "path", "query", "fragment"],
    }),
    hints: { readOnly: true, nonDestructive: true, idempotent: true, closedWorld: true },
    examples: [
      { name: "a query", arguments: '{"url": "HTTPS://Example.org:443/a/../b?x=1&x=2#top"}', isError: false },
      { name: "no URL", arguments: '{"url": "http://["}', isError: true },
    ],
    extra: [],
  },
  run({ url, base }) {
    if (typeof url !== "string") throw invalid("url is required, and must be a string");
    if (base !== undefined && typeof base !== "string") throw invalid("base must be a string");
    // A base that the operator set and that is no URL is no mistake of the model, so nothing catches what `URL` throws: the
    // call ends, and the operator finds the error in the log.
    const ours = base === undefined ? get("base_url") : undefined;
    const against = ours === undefined ? base : new URL(ours).href;
    let parsed;
    try {
      parsed = new URL(url, against);
    } catch (error) {
      throw invalid(`url is no URL, or a relative one without a base: ${error.message}`);
    }
    return {
      href: parsed.href,
      scheme: parsed.protocol.slice(0, -1),
      host: parsed.host,
      path: parsed.pathname,
      query: [...parsed.searchParams],
      fragment: parsed.hash.slice(1),
    };
  },
};

const pick = {
  definition: {
    name: "pick",
    title: "Random choice",
    description: "Picks some of a list of texts at random, each at most once, in random order.",
    inputSchema: JSON.stringify({
      type: "object",
      properties: {
        items: { type: "array", items: { type: "string" }, minItems: 1, maxItems: MAX_ITEMS },
        count: { type: "integer", minimum: 1, default: 1, description: "How many" },
      },
      required: ["items"],
      additionalProperties: false,
    }),
    outputSchema: JSON.stringify({
      type: "object",
      properties: {
        picked: { type: "array", items: { type: "string" } },
        at_ms: { type: "integer", description: "Milliseconds since 1970" },
      },
      required: ["picked", "at_ms"],
    }),
    hints: { readOnly: true, nonDestructive: true, idempotent: false, closedWorld: true },
    examples: [{ name: "one of three", arguments: '{"items": ["a", "b", "c"]}', isError: false }],
    extra: [],
  },
  run({ items, count = 1 }) {
    const texts = Array.isArray(items) && items.length >= 1 && items.length <= MAX_ITEMS;
    if (!texts || !items.every((item) => typeof item === "string")) {
      throw invalid(`items must be a list of 1 to ${MAX_ITEMS} strings`);
    }
    if (!Number.isInteger(count) || count < 1 || count > items.length) {
      throw invalid(`count must be an integer from 1 to the number of items, which is ${items.length}`);
    }
    log("debug", `picking ${count} of ${items.length}`);
    const left = [...items];
    const draws = crypto.getRandomValues(new Uint32Array(count));
    const picked = Array.from(draws, (draw) => left.splice(draw % left.length, 1)[0]);
    return { picked, at_ms: Date.now() };
  },
};

const all = [parseUrl, pick];

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
