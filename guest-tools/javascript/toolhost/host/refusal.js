// The errors of the contract as those that a plugin sees.

import { HostError } from "../lib/errors.js";

/** Runs a function of the bindings. Throws what the host refuses as a `HostError`; `words` has the texts of errors without one. */
export function asked(words, ask) {
  try {
    return ask();
  } catch (error) {
    const { payload } = error;
    // That of several files comes with the place of the file.
    const [index, refusal] = Array.isArray(payload) ? payload : [undefined, payload];
    if (refusal?.tag === undefined) throw error;
    const text = words[refusal.tag]?.replace("{}", String(refusal.val)) ?? String(refusal.val);
    throw new HostError(refusal.tag, text, index);
  }
}
