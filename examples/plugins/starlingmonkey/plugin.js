// A plugin in JavaScript for StarlingMonkey, the engine that has the interfaces of the web: URL, crypto, Intl.

import { InvalidArguments, log, settings, t, tool } from "toolhost";

export { tools } from "toolhost";

const HARMLESS = { readOnly: true, closedWorld: true };
const MAX_ITEMS = 1000;

tool({
  name: "parse_url",
  title: "Parts of a URL",
  description:
    "Takes a URL apart as browsers do, and gives its normal form, host, path and query parameters. " +
    "A relative URL is resolved against `base`, or against the base that the operator set.",
  ...HARMLESS,
  idempotent: true,
  input: {
    url: t.string("The URL, absolute or relative."),
    base: t.string("The absolute URL to which a relative one is relative.").optional(),
  },
  output: {
    href: t.string(),
    scheme: t.string(),
    host: t.string(),
    path: t.string(),
    query: t.array(t.array(t.string(), undefined, { minItems: 2, maxItems: 2 })),
    fragment: t.string(),
  },
  examples: [
    { name: "a query", arguments: { url: "HTTPS://Example.org:443/a/../b?x=1&x=2#top" } },
    { name: "no URL", arguments: { url: "http://[" }, isError: true },
  ],
  run({ url, base }) {
    // A base that the operator set and that is no URL is no mistake of the model, so nothing catches what `URL` throws: the
    // call ends, and the operator finds the error in the log.
    const ours = base === undefined ? settings.get("base_url") : undefined;
    const against = ours === undefined ? base : new URL(ours).href;
    let parsed;
    try {
      parsed = new URL(url, against);
    } catch (error) {
      throw new InvalidArguments(`url is no URL, or a relative one without a base: ${error.message}`);
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
});

tool({
  name: "pick",
  title: "Random choice",
  description: "Picks some of a list of texts at random, each at most once, in random order.",
  ...HARMLESS,
  input: {
    items: t.array(t.string(), "The texts.", { minItems: 1, maxItems: MAX_ITEMS }),
    count: t.integer("How many.", { minimum: 1 }).default(1),
  },
  output: { picked: t.array(t.string()), at_ms: t.integer("Milliseconds since 1970") },
  examples: [{ name: "one of three", arguments: { items: ["a", "b", "c"] } }],
  run({ items, count }) {
    if (count > items.length) {
      throw new InvalidArguments(`count must be an integer from 1 to the number of items, which is ${items.length}`);
    }
    log.debug(`picking ${count} of ${items.length}`);
    const left = [...items];
    const draws = crypto.getRandomValues(new Uint32Array(count));
    const picked = Array.from(draws, (draw) => left.splice(draw % left.length, 1)[0]);
    return { picked, at_ms: Date.now() };
  },
});
