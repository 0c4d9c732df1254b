// The engine StarlingMonkey: `u64` is a bigint, and functions may be asynchronous.

export const u64 = (number) => BigInt(number);

export function begin(_id) {}

export function check(_run, _tool) {}

export const settle = (promise, _tool) => promise;
