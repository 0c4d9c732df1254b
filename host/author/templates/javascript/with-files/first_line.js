// The first line of a file.

import { t, tool } from "toolhost";
import { readText } from "toolhost/files";

tool({
  name: "first_line",
  description: "Returns the first line of a file of the workspace.",
  readOnly: true,
  input: { path: t.string("The path: absolute, or relative to the workspace.") },
  run({ path }) {
    return readText(path).split("\n")[0];
  },
});
