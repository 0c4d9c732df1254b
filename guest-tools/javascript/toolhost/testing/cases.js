// Cases of a JSON file, as `toolhost plugin test` runs them through the component.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { ToolError } from "../lib/errors.js";
import { structured, texts } from "../lib/reply.js";
import { find } from "../lib/tool.js";
import { makeSurroundings, replace } from "../host/native.js";

/**
 * Runs each case of a file, and returns a promise of how many there are. `fields` are surroundings for all of them. Throws an `Error`
 * with every case that differs.
 */
export async function runCases(path, fields = {}) {
  const { cases } = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(cases) || cases.length === 0) {
    throw new Error(`${path}: there must be cases: {"cases": [{"name": …, "tool": …, "arguments": …}]}`);
  }
  const problems = [];
  for (const one of cases) {
    const problem = compare(one, await outcomeOf(one, fields));
    if (problem !== undefined) problems.push(`${one.name}: ${problem}`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return cases.length;
}

async function outcomeOf(one, fields) {
  const before = replace(makeSurroundings({ ...fields, settings: { ...fields.settings, ...one.settings } }));
  try {
    return await find(one.tool).call(JSON.stringify(one.arguments ?? {}));
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  } finally {
    replace(before);
  }
}

/** Returns how an outcome differs from what the case expects; `undefined` if it does not. */
function compare(one, outcome) {
  const expected = ["reply", "text", "error"].filter((key) => Object.hasOwn(one, key));
  if (expected.length !== 1) return "it must have one of reply, text and error";
  const wanted = one[expected[0]];
  if (outcome instanceof ToolError) {
    if (expected[0] !== "error") return `it failed with ${outcome.kind}: ${outcome.message}`;
    const fits = outcome.kind === wanted.kind && outcome.message.includes(wanted.message ?? "");
    return fits ? undefined : `the error is ${outcome.kind}: ${outcome.message}`;
  }
  const value = expected[0] === "text" ? texts(outcome) : structured(outcome);
  if (expected[0] === "error") return `it replied: ${texts(outcome) || JSON.stringify(value)}`;
  if (!isDeepStrictEqual(value, wanted)) return `the ${expected[0]} is ${JSON.stringify(value)}`;
  return outcome.isError === (one.is_error ?? false) ? undefined : `is_error is ${outcome.isError}`;
}
