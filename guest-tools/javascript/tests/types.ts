// Types that the compiler infers: `tsc` checks this file, and nothing runs it.

import { type Infer, Reply, t, tool } from "toolhost";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>) {}

const edit = t.object({ line: t.integer(), all: t.boolean().optional() });
same<Infer<typeof edit>, { line: number; all?: boolean | undefined }>(true);

tool({
  name: "inferred",
  description: "Infers.",
  input: {
    text: t.string("The text."),
    times: t.integer("How often", { minimum: 1 }).default(1),
    way: t.enum(["north", "south"]),
    note: t.string().nullable(),
    edits: t.array(edit),
    maybe: t.number().optional(),
    either: t.union(t.integer(), t.boolean()),
  },
  output: { words: t.integer() },
  run(args) {
    same<(typeof args)["text"], string>(true);
    same<(typeof args)["times"], number>(true);
    same<(typeof args)["way"], "north" | "south">(true);
    same<(typeof args)["note"], string | null>(true);
    same<(typeof args)["maybe"], number | undefined>(true);
    same<(typeof args)["either"], number | boolean>(true);
    // @ts-expect-error: there is no such argument
    args.other;
    return { words: args.edits.length };
  },
});

// @ts-expect-error: the reply has no words
tool({
  name: "promised",
  description: "Breaks its promise.",
  output: { words: t.integer() },
  run: () => ({ letters: 1 }),
});

tool<{ text: string }>({
  name: "raw",
  description: "Takes a schema as it is.",
  input: { type: "object", properties: { text: { type: "string" } } },
  run: async ({ text }) => new Reply(text.trim()),
});

// @ts-expect-error: a tool has a description
tool({ name: "none", run: () => "" });
