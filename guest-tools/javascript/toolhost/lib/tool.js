// Tools: functions with a name, a description and schemas.

import * as engine from "#engine";
import { withDefaults } from "./arguments/defaults.js";
import { parse } from "./arguments/parse.js";
import { UnknownTool } from "./errors.js";
import { replyOf } from "./reply.js";
import { schemaOf } from "./types.js";

const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
const MAX_NAME = 31;

/** The tools of this plugin, by name, in the order in which they were defined. */
export const defined = new Map();

/** Defines a tool, and returns it. Throws an `Error` for a tool that the host would refuse. */
export function tool(options) {
  const { name, description, input = {}, output, run, ...rest } = options;
  if (typeof name !== "string" || !NAME.test(name) || name.length > MAX_NAME) {
    throw new Error(`"${name}" is no name of a tool: it must match ${NAME.source} and have at most ${MAX_NAME} bytes`);
  }
  if (defined.has(name)) throw new Error(`two tools have the name "${name}"`);
  if (!description) throw new Error(`the tool ${name} has no description; say there, for the model, what it does`);
  if (typeof run !== "function") throw new Error(`the tool ${name} has no function run`);
  engine.check(run, name);
  const inputSchema = schemaOf(input);
  if (inputSchema.type !== "object") throw new Error(`the tool ${name}: its input must be an object`);
  const made = {
    name,
    description,
    inputSchema,
    outputSchema: output === undefined ? undefined : schemaOf(output),
    ...rest,
    /** Runs a call with the text of a JSON object. Returns a reply, or a promise of one if `run` is asynchronous. */
    call(text) {
      const result = run(withDefaults(parse(text, inputSchema), inputSchema));
      return typeof result?.then === "function" ? result.then(replyOf) : replyOf(result);
    },
  };
  defined.set(name, made);
  return made;
}

/** Returns the tool of this name. Throws `UnknownTool`. */
export function find(name) {
  const found = defined.get(name);
  if (found === undefined) throw new UnknownTool(name);
  return found;
}
