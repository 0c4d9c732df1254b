// The processes of a test.

import { fake } from "./native.js";

export const shell = () => fake("processes").shell();
export const start = (options) => fake("processes").start(options);
export const open = (id) => fake("processes").open(id);
export const listProcesses = (runningOnly, max) => fake("processes").listProcesses(runningOnly, max);
export const waitAny = (ids, timeout) => fake("processes").waitAny(ids, timeout);
