// The loops of the examples are short, and the README shows one of them.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const client = fileURLToPath(new URL("../../", import.meta.url));
const examples = join(client, "../../examples/chat/typescript");
const skip = existsSync(examples) ? false : "the examples are not there";
const loop = (provider: string) => {
  const source = readFileSync(join(examples, `${provider}.ts`), "utf8");
  return source.slice(source.indexOf("export async function"));
};

test("a loop has at most 25 lines", { skip }, () => {
  for (const provider of ["anthropic", "openai", "openai-responses", "gemini", "bedrock"]) {
    const lines = loop(provider).trim().split("\n");
    assert.ok(lines.length > 10 && lines.length <= 25, `${provider}: ${lines.length}`);
  }
});

test("the README shows a loop", { skip }, () => {
  const readme = readFileSync(join(client, "README.md"), "utf8");
  assert.ok(readme.includes(loop("anthropic")));
});

test("the chat uses the same versions as the tests of the client", { skip }, () => {
  const own = JSON.parse(readFileSync(join(client, "package.json"), "utf8")).devDependencies;
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(examples, "package.json"), "utf8"));
  const { "toolhost-client": _, ...others } = { ...dependencies, ...devDependencies };
  for (const [name, version] of Object.entries(others)) assert.equal(version, own[name], name);
});
