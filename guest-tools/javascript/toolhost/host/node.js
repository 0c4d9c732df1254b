// No engine of a component: the tests of a plugin run under Node.js.

export const u64 = (number) => number;

export function begin(_id) {}

export const settle = (promise, _tool) => promise;
