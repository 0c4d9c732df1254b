// Puts the line of the author's files that each line of a bundle is from at its beginning, and prints the same as JSON.

import { readFileSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";

const [bundle] = process.argv.slice(2);
const text = readFileSync(bundle, "utf8");
const map = new SourceMap(JSON.parse(readFileSync(`${bundle}.map`, "utf8")));
const places = {};
for (const [index, line] of text.split("\n").entries()) {
  const { generatedLine, originalSource = "", originalLine } = map.findEntry(index, line.search(/\S|$/));
  const [, own] = /^\.\.\/(?!\.\.\/|toolhost\/|node_modules\/)(.+)/.exec(originalSource) ?? [];
  if (generatedLine === index && own !== undefined) places[index + 1] = `${own}:${originalLine + 1}`;
}
const json = JSON.stringify(places);
writeFileSync(bundle, `globalThis.toolhostLines = ${json}; ${text}`);
process.stdout.write(json);
