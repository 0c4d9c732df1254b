// A plugin in JavaScript for QuickJS: small and quick to start, and without the interfaces of the web (no URL, no Intl).

import { Failed, InvalidArguments, settings, t, tool } from "toolhost";
import { run } from "toolhost/processes";

export { tools } from "toolhost";

const HARMLESS = { readOnly: true, idempotent: true, closedWorld: true };

tool({
  name: "slugify",
  title: "Slug of a text",
  description:
    "Turns a title into a slug for addresses and file names: lower case, without accents, words joined by a separator.",
  ...HARMLESS,
  input: {
    text: t.string("The title.", { minLength: 1 }),
    separator: t.enum(["-", "_"], "What joins words.").default("-"),
  },
  output: { slug: t.string() },
  examples: [
    { name: "a title", arguments: { text: "Crème brûlée, très facile!" } },
    { name: "nothing left", arguments: { text: "!?" }, isError: true },
  ],
  run({ text, separator }) {
    // A setting that is no number is the operator's mistake and no model can mend it, so nothing catches this: the call ends,
    // and the operator finds the error in the log.
    const most = Number(settings.get("max_length", "80"));
    if (!Number.isInteger(most) || most < 1) throw new Error("the setting max_length must be a whole number above 0");
    const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const words = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
    if (words.length === 0) throw new InvalidArguments("text has no letters and no digits");
    let slug = words.shift();
    for (const word of words) {
      if (slug.length + separator.length + word.length > most) break;
      slug += separator + word;
    }
    return { slug: slug.slice(0, most) };
  },
});

tool({
  name: "disk_usage",
  title: "Size of a directory",
  description: "Measures how much a file or directory of the workspace takes on disk, in KiB.",
  ...HARMLESS,
  input: { path: t.string("Absolute, or relative to the workspace.", { minLength: 1 }).default(".") },
  output: { path: t.string(), kib: t.integer(), at_ms: t.integer("Milliseconds since 1970") },
  examples: [{ name: "the workspace", arguments: {} }],
  run({ path }) {
    // A variable, and not a part of the command: no path can be more than a path. The command only looks.
    const options = { env: { TARGET: path }, without: ["write", "network"], timeout: 30 };
    const { state, text } = run('exec du -sk -- "$TARGET"', options);
    if (state.code !== 0) throw new Failed(text.trim() || "du failed");
    return { path, kib: Number.parseInt(text, 10), at_ms: Date.now() };
  },
});
