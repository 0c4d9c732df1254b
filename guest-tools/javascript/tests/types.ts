// Types that the compiler infers: `tsc` checks this file, and nothing runs it.

import { type Infer, Reply, t, tool } from "toolhost";
import { find, search, share } from "toolhost/files";
import { PIPE, start } from "toolhost/processes";
import { FakeProcess } from "toolhost/testing";

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

start("cat", { stdin: PIPE }).write("text").kind;
start("vi", { stdin: { rows: 24, columns: 80 } }).resize(40, 120);
same<ReturnType<ReturnType<typeof start>["snapshot"]>["screen"], import("toolhost/processes").Screen | undefined>(true);
// @ts-expect-error: a terminal has columns
start("vi", { stdin: { rows: 24 } });
// @ts-expect-error: no other symbol asks for a pipe
start("cat", { stdin: Symbol("PIPE") });
new FakeProcess().shows({ text: "Name:" }).failsToTakeInput("failed", "no");

search("TODO", { path: "src", globs: ["*.ts"], letterCase: "smart", filesOnly: true }).files[0]?.lines[0]?.isMatch;
find({ kind: "file", minSize: 1, newestFirst: true }).files[0]?.modifiedMs;
share("report.pdf", { lifetimeSecs: 60 }).url.length;
// @ts-expect-error: there is no such case
search("TODO", { letterCase: "loud" });
