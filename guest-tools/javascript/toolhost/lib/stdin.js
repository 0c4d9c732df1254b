// The standard input of commands.

/** Asks for a standard input that stays open: the plugin writes to it until it calls `closeInput`. */
export const PIPE = Symbol("PIPE");

/** Returns the bytes of a text; bytes are returned as they are. */
export const encoded = (data) => (typeof data === "string" ? new TextEncoder().encode(data) : data);
