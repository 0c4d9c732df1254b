// {{name}}: a plugin for Toolhost.

import { t, tool } from "toolhost";
{{#processes}}
import "./disk_usage.js";
{{/processes}}
{{#files}}
import "./first_line.js";
{{/files}}
{{#http}}
import "./page_title.js";
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
