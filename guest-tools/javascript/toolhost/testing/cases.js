// Cases of a JSON file, as `toolhost plugin test` runs them through the component.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { Failed, ToolError } from "../lib/errors.js";
import { summary } from "../lib/failure.js";
import { structured, texts } from "../lib/reply.js";
import { find } from "../lib/tool.js";
import { Missing, makeSurroundings, replace, surroundings } from "../host/native.js";
import { FakeFiles } from "./files.js";
import { FakeHttp } from "./http.js";

const OUTCOMES = ["reply", "text", "error"];
const FIELDS = ["name", "tool", "arguments", "settings", "secrets", "files", "http", ...OUTCOMES, "is_error"];

/**
 * Runs each case of a file, and returns a promise of how many there are. The cases have the surroundings of the test, as `withHost` gives
 * them, with `fields` in their place, and with the settings, secrets, files and answers of the case. A case without files has an empty
 * workspace, unless the test has files. Throws an `Error` with every case that differs.
 */
export async function runCases(path, fields = {}) {
  const { cases } = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(cases) || cases.length === 0) {
    throw new Error(`${path}: there must be cases: {"cases": [{"name": …, "tool": …, "arguments": …}]}`);
  }
  const problems = [];
  for (const one of cases) {
    const problem = await problemOf(one, fields);
    if (problem !== undefined) problems.push(`${one.name}: ${problem}`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return cases.length;
}

/** Returns how the outcome of a case differs from what it expects; `undefined` if it does not. */
async function problemOf(one, fields) {
  const unknown = Object.keys(one).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) return `unknown field ${unknown}; the fields are ${FIELDS.join(", ")}`;
  const within = surroundingsOf(one, fields);
  const outcome = await outcomeOf(one, within);
  // A tool that goes on without an answer hides that from its outcome.
  const unanswered = within.http instanceof FakeHttp ? within.http.unanswered : [];
  if (unanswered.length > 0) return unanswered.join("\n");
  return outcome instanceof Missing ? outcome.message : compare(one, outcome);
}

/** Returns what the call of a case sees. */
function surroundingsOf(one, fields) {
  const within = makeSurroundings({ ...surroundings(), logged: [], progress: [], ...fields });
  const text = ([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)];
  const settings = Object.fromEntries(Object.entries(one.settings ?? {}).map(text));
  within.settings = { ...within.settings, ...settings };
  within.secrets = { ...within.secrets, ...one.secrets };
  if (one.files !== undefined || within.files === undefined) within.files = new FakeFiles(one.files);
  if (one.http !== undefined) within.http = FakeHttp.ofCase(one.http);
  return within;
}

/** Returns the reply, or the error of the call, also for an exception that the tool does not catch. */
async function outcomeOf(one, within) {
  const before = replace(within);
  try {
    return await find(one.tool).call(JSON.stringify(one.arguments ?? {}));
  } catch (error) {
    return error instanceof ToolError || error instanceof Missing ? error : new Failed(summary(error));
  } finally {
    replace(before);
  }
}

/** Returns how an outcome differs from what the case expects; `undefined` if it does not. */
function compare(one, outcome) {
  const expected = OUTCOMES.filter((key) => Object.hasOwn(one, key));
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
