// The engine StarlingMonkey: `u64` is a bigint, and functions may be asynchronous.

export const u64 = (number) => BigInt(number);

export function begin(_id) {}

export const settle = (promise, _tool) => promise;

/** Tells the operator of an exception, since the engine leaves out where it was thrown. */
export function tell(error) {
  console.error(error instanceof Error ? `${error}\n${error.stack}` : error);
}
