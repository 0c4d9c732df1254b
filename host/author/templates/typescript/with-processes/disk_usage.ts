// The size of a directory, which a command measures.

import { Failed, t, tool } from "toolhost";
import { run } from "toolhost/processes";

tool({
  name: "disk_usage",
  description: "Measures how much a file or directory of the workspace takes on disk.",
  readOnly: true,
  input: { path: t.string("The path: absolute, or relative to the workspace.") },
  run({ path }) {
    // A variable, and not a part of the command: no path can be more than a path.
    const { state, text } = run('exec du -sh -- "$TARGET"', { env: { TARGET: path }, timeout: 30 });
    if (state.code !== 0) throw new Failed(`du failed: ${text.trim()}`);
    return text.split("\t")[0] ?? "";
  },
});
