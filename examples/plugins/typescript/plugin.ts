// A plugin in TypeScript, built for QuickJS: the types of arguments and replies follow from their descriptions.

import { HostError, type Infer, InvalidArguments, log, t, tool } from "toolhost";
import { listDirectory, readText } from "toolhost/files";

export { tools } from "toolhost";

/** The most notes in a reply. */
const MAX_NOTES = 100;

const Note = t.object({
  path: t.string(),
  line: t.integer("Counted from 1."),
  text: t.string(),
});
type Note = Infer<typeof Note>;

tool({
  name: "find_notes",
  title: "Notes in a directory",
  description: "Finds lines with TODO or FIXME in the files of a directory of the workspace, and not below it.",
  readOnly: true,
  idempotent: true,
  closedWorld: true,
  input: {
    path: t.string("The directory: absolute, or relative to the workspace.").default("."),
    words: t.array(t.string(undefined, { minLength: 1 }), "What to look for.", { minItems: 1 }).default(["TODO", "FIXME"]),
  },
  output: { notes: t.array(Note), files: t.integer("How many files were read.") },
  examples: [{ name: "the workspace", arguments: {} }],
  run({ path, words }) {
    const files = namesOf(path).map((name) => `${path}/${name}`);
    const notes = files.flatMap((file) => notesIn(file, words));
    log.debug(`${notes.length} notes in ${files.length} files`);
    return { notes: notes.slice(0, MAX_NOTES), files: files.length };
  },
});

function namesOf(path: string): string[] {
  try {
    return listDirectory(path).flatMap(({ name, kind }) => (kind === "file" ? [name] : []));
  } catch (error) {
    if (error instanceof HostError && error.reason.startsWith("not-")) throw new InvalidArguments(`${path}: ${error.message}`);
    throw error;
  }
}

function notesIn(path: string, words: string[]): Note[] {
  const lines = readText(path).split("\n");
  return lines.flatMap((text, at) =>
    words.some((word) => text.includes(word)) ? [{ path, line: at + 1, text: text.trim() }] : [],
  );
}
