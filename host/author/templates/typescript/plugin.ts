// {{name}}: a plugin for Toolhost.

import { t, tool } from "toolhost";
{{#processes}}
import "./disk_usage.ts";
{{/processes}}
{{#files}}
import "./first_line.ts";
{{/files}}
{{#http}}
import "./page_title.ts";
{{/http}}

export { tools } from "toolhost";

tool({
  name: "{{name}}",
  description: "Counts the words of a text.",
  readOnly: true,
  input: { text: t.string("The text.") },
  run({ text }) {
    return { words: text.split(/\s+/).filter(Boolean).length };
  },
});
