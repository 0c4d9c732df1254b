// A kit for native tests of a plugin under `node --test`: no component is built, no process is started, no request is sent.

import { makeSurroundings, replace } from "./host/native.js";
import { structured, texts } from "./lib/reply.js";
import { find } from "./lib/tool.js";

export { runCases } from "./testing/cases.js";
export { FakeFiles } from "./testing/files.js";
export { FakeHttp } from "./testing/http.js";
export { FakeProcess } from "./testing/process.js";
export { FakeProcesses } from "./testing/processes.js";

/** Runs a function with these surroundings, and passes them to it: the fields of `Surroundings`. Works with a promise, too. */
export function withHost(fields, run) {
  const surroundings = makeSurroundings(fields);
  const before = replace(surroundings);
  let isPending = false;
  try {
    const result = run(surroundings);
    isPending = typeof result?.then === "function";
    return isPending ? result.finally(() => replace(before)) : result;
  } finally {
    if (!isPending) replace(before);
  }
}

/** Calls a tool as the host does, from the text of its arguments. Returns a reply, or a promise of one if the tool is asynchronous. */
export function replyOf(name, args = {}) {
  return find(name).call(typeof args === "string" ? args : JSON.stringify(args));
}

/** Calls a tool as the host does, and returns the JSON value of its reply, or its texts if it has none. */
export function call(name, args = {}) {
  const value = (reply) => structured(reply) ?? texts(reply);
  const reply = replyOf(name, args);
  return typeof reply.then === "function" ? reply.then(value) : value(reply);
}
