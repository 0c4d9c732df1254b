// What scripts know from browsers and Node.js, beside JavaScript itself.
(({ native, wellFormed, setTimer }) => {
  const text = (value) => wellFormed(String(value));

  // URLs

  const names = ["href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  class URL {
    #parts;
    #params;
    constructor(url, base) {
      const parts = base === undefined ? native.parseUrl(text(url)) : native.parseUrl(text(url), text(base));
      if (parts == null) throw Object.assign(new TypeError(`Invalid URL: ${text(url)}`), { code: "ERR_INVALID_URL", input: text(url) });
      this.#parts = parts;
    }
    static canParse(url, base) {
      return URL.parse(url, base) !== null;
    }
    static parse(url, base) {
      try {
        return new URL(url, base);
      } catch {
        return null;
      }
    }
    get origin() {
      return this.#parts[names.length];
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.search, (search) => this.#change("search", search));
      return this.#params;
    }
    #change(name, value) {
      this.#parts = native.changeUrl(this.href, name, value) ?? this.#parts;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
    static {
      names.forEach((name, at) => {
        Object.defineProperty(URL.prototype, name, {
          get() {
            return this.#parts[at];
          },
          set(value) {
            if (name === "href") this.#parts = new URL(value).#parts;
            else this.#change(name, text(value));
            if (this.#params && (name === "href" || name === "search")) fill(this.#params, this.search);
          },
          enumerable: true,
          configurable: true,
        });
      });
    }
  }

  const unescape = (part) => {
    const spaced = part.replaceAll("+", " ");
    try {
      return decodeURIComponent(spaced);
    } catch {
      const bytes = spaced.replace(/%([0-9a-f]{2})|([^])/gi, (_, hex, other) => (hex ? String.fromCharCode(Number.parseInt(hex, 16)) : unescapeOther(other)));
      return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
    }
  };
  const unescapeOther = (other) => String.fromCharCode(...native.encodeText(wellFormed(other)));
  const escape = (part) =>
    encodeURIComponent(text(part)).replace(/%20|[!'()~]/g, (sign) => (sign === "%20" ? "+" : `%${sign.charCodeAt(0).toString(16).toUpperCase()}`));
  let fill;
  class URLSearchParams {
    #pairs = [];
    #changed;
    constructor(init = "", changed = () => {}) {
      this.#changed = changed;
      if (typeof init !== "object" || init === null) this.#read(text(init));
      else if (typeof init[Symbol.iterator] === "function") this.#pairs = [...init].map(([name, value]) => [text(name), text(value)]);
      else this.#pairs = Object.entries(init).map(([name, value]) => [text(name), text(value)]);
    }
    static {
      fill = (params, search) => params.#read(search);
    }
    #read(search) {
      const parts = search.replace(/^\?/, "").split("&").filter((part) => part !== "");
      this.#pairs = parts.map((part) => {
        const at = part.indexOf("=");
        return at < 0 ? [unescape(part), ""] : [unescape(part.slice(0, at)), unescape(part.slice(at + 1))];
      });
    }
    get size() {
      return this.#pairs.length;
    }
    append(name, value) {
      this.#pairs.push([text(name), text(value)]);
      this.#changed(this.toString());
    }
    set(name, value) {
      const at = this.#pairs.findIndex(([other]) => other === text(name));
      if (at < 0) return this.append(name, value);
      this.#pairs[at] = [text(name), text(value)];
      this.#pairs = this.#pairs.filter(([other], index) => index <= at || other !== text(name));
      this.#changed(this.toString());
    }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(([other, its]) => other !== text(name) || (value !== undefined && its !== text(value)));
      this.#changed(this.toString());
    }
    get(name) {
      return this.#pairs.find(([other]) => other === text(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([other]) => other === text(name)).map(([, value]) => value);
    }
    has(name, value) {
      return this.#pairs.some(([other, its]) => other === text(name) && (value === undefined || its === text(value)));
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed(this.toString());
    }
    forEach(run, self) {
      for (const [name, value] of this) run.call(self, value, name, this);
    }
    *keys() {
      for (const [name] of this.#pairs) yield name;
    }
    *values() {
      for (const [, value] of this.#pairs) yield value;
    }
    *entries() {
      for (const pair of this.#pairs) yield [...pair];
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#pairs.map(([name, value]) => `${escape(name)}=${escape(value)}`).join("&");
    }
    toJSON() {
      return this.toString();
    }
  }

  // Text as bytes

  class TextEncoder {
    encoding = "utf-8";
    encode(value = "") {
      return native.encodeText(text(value));
    }
    encodeInto(value, into) {
      let read = 0;
      let written = 0;
      for (const character of text(value)) {
        const bytes = native.encodeText(character);
        if (written + bytes.length > into.length) break;
        into.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }
  class TextDecoder {
    encoding = "utf-8";
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!/^\s*utf-?8\s*$/i.test(label)) throw new RangeError(`TextDecoder knows only utf-8 here, and was given ${label}: convert the text with a command such as iconv`);
      this.fatal = fatal;
      this.ignoreBOM = ignoreBOM;
    }
    decode(bytes = new Uint8Array()) {
      const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
      const decoded = native.decodeText(view.toHex(), this.fatal);
      return this.ignoreBOM ? decoded : decoded.replace(/^\ufeff/, "");
    }
  }

  // Events and their end

  class Event {
    defaultPrevented = false;
    target = null;
    constructor(type, { cancelable = false } = {}) {
      this.type = text(type);
      this.cancelable = cancelable;
    }
    preventDefault() {
      this.defaultPrevented = this.cancelable;
    }
  }
  class EventTarget {
    #listeners = [];
    addEventListener(type, listener, { once = false } = {}) {
      if (listener && !this.#listeners.some((other) => other.type === type && other.listener === listener)) this.#listeners.push({ type, listener, once });
    }
    removeEventListener(type, listener) {
      this.#listeners = this.#listeners.filter((other) => other.type !== type || other.listener !== listener);
    }
    dispatchEvent(event) {
      event.target = this;
      this[`on${event.type}`]?.(event);
      for (const { type, listener, once } of [...this.#listeners]) {
        if (type !== event.type) continue;
        if (once) this.removeEventListener(type, listener);
        if (typeof listener === "function") listener.call(this, event);
        else listener.handleEvent(event);
      }
      return !event.defaultPrevented;
    }
  }
  let abort;
  class AbortSignal extends EventTarget {
    aborted = false;
    reason = undefined;
    onabort = null;
    static {
      abort = (signal, reason = new DOMException("This operation was aborted", "AbortError")) => {
        if (signal.aborted) return;
        signal.aborted = true;
        signal.reason = reason;
        signal.dispatchEvent(new Event("abort"));
      };
    }
    static abort(reason) {
      const signal = new AbortSignal();
      abort(signal, reason);
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal();
      setTimer("AbortSignal.timeout", () => abort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms, [], false);
      return signal;
    }
    static any(signals) {
      const signal = new AbortSignal();
      for (const other of signals) {
        if (other.aborted) abort(signal, other.reason);
        else other.addEventListener("abort", () => abort(signal, other.reason), { once: true });
      }
      return signal;
    }
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
  }
  class AbortController {
    signal = new AbortSignal();
    abort(reason) {
      abort(this.signal, reason);
    }
  }

  // Copies

  const structuredClone = (value) => {
    const copies = new Map();
    const copy = (value) => {
      if (typeof value === "function" || typeof value === "symbol" || value instanceof Promise)
        throw new DOMException(`${typeof value === "function" ? value.name || "a function" : String(typeof value)} could not be cloned.`, "DataCloneError");
      if (typeof value !== "object" || value === null) return value;
      if (copies.has(value)) return copies.get(value);
      const known = (copied) => {
        copies.set(value, copied);
        return copied;
      };
      if (value instanceof Date) return known(new Date(value.getTime()));
      if (value instanceof RegExp) return known(new RegExp(value.source, value.flags));
      if (value instanceof ArrayBuffer) return known(value.slice(0));
      if (ArrayBuffer.isView(value))
        return known(value instanceof DataView ? new DataView(value.buffer.slice(0), value.byteOffset, value.byteLength) : value.slice());
      if (value instanceof Map) {
        const copied = known(new Map());
        for (const [key, its] of value) copied.set(copy(key), copy(its));
        return copied;
      }
      if (value instanceof Set) {
        const copied = known(new Set());
        for (const its of value) copied.add(copy(its));
        return copied;
      }
      if (value instanceof Error) {
        const type = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[value.name] ?? Error;
        const copied = known(new type(value.message));
        Object.defineProperty(copied, "stack", { value: value.stack, writable: true, configurable: true });
        if (Object.hasOwn(value, "cause")) Object.defineProperty(copied, "cause", { value: copy(value.cause), writable: true, configurable: true });
        return copied;
      }
      const copied = known(Array.isArray(value) ? new Array(value.length) : {});
      for (const key of Object.keys(value)) copied[key] = copy(value[key]);
      return copied;
    };
    return copy(value);
  };

  // Chance

  const byte = () => Math.floor(native.random() * 256);
  const crypto = {
    getRandomValues: (array) => {
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).forEach((_, at, bytes) => {
        bytes[at] = byte();
      });
      return array;
    },
    randomUUID: () => {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = bytes.toHex();
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
    },
    get subtle() {
      throw new ReferenceError("crypto.subtle is not available: hash and encrypt with a command, such as tools.execute({ command: \"sha256sum FILE\" })");
    },
  };

  return { URL, URLSearchParams, TextEncoder, TextDecoder, Event, EventTarget, AbortSignal, AbortController, structuredClone, crypto };
})
