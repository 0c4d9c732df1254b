// What QuickJS lacks and most programs expect: TextEncoder, TextDecoder (UTF-8 alone), and console, which writes to the log.

import * as host from "./component.js";
import { decode, encode } from "../lib/utf8.js";

globalThis.TextEncoder ??= class TextEncoder {
  encoding = "utf-8";
  encode(text = "") {
    return encode(String(text));
  }
};

globalThis.TextDecoder ??= class TextDecoder {
  encoding = "utf-8";
  #fatal;
  constructor(label = "utf-8", { fatal = false } = {}) {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`there is no encoding "${label}" here, only utf-8`);
    this.#fatal = fatal;
  }
  decode(bytes = new Uint8Array()) {
    const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    return decode(view, this.#fatal);
  }
};

const LEVELS = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error", trace: "debug" };

globalThis.console ??= Object.fromEntries(
  Object.entries(LEVELS).map(([name, level]) => [name, (...values) => host.log(level, values.map(shown).join(" "))]),
);

function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value}\n${value.stack ?? ""}`.trimEnd();
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
