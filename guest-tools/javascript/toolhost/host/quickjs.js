// The engine QuickJS: `u64` is a number, functions are synchronous, and what programs expect of an engine is missing.

import "./prelude.js";
import { seed } from "./random.js";

export const u64 = (number) => number;

/** Begins a call: the engine's random numbers would be the same in every call. */
export function begin(id) {
  seed(`${id} ${Date.now()}`);
}

/** Refuses a function that returns a promise, when its tool is defined. */
export function check(run, tool) {
  if (run.constructor.name === "AsyncFunction") settle(undefined, tool);
}

/** Refuses a promise, which QuickJS cannot wait for. */
export function settle(_promise, tool) {
  const remedy = "make run a plain function, or build for StarlingMonkey";
  throw new Error(`the tool ${tool} is asynchronous, and QuickJS waits for no promise: ${remedy}`);
}
