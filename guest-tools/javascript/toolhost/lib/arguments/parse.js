// From the text of a call's arguments to JSON values that fit a schema, with errors that a model can act on.

import { InvalidArguments } from "../errors.js";
import { problem } from "./check.js";
import { Node } from "./plain.js";

/** Reads the arguments of a call, in any way in which models write them. Throws `InvalidArguments`, which names what does not fit. */
export function parse(text, schema) {
  let written;
  try {
    written = JSON.parse(text.trim() === "" ? "{}" : text);
  } catch (error) {
    // Without enough memory the arguments may be right.
    if (!(error instanceof SyntaxError)) throw error;
    throw new InvalidArguments(`invalid arguments: ${error.message}`);
  }
  const root = Node.ofRoot(schema);
  const given = root.plain(written);
  const wrong = problem(given, root);
  if (wrong !== undefined) throw new InvalidArguments(wrong);
  return given;
}
