// The surroundings of a script. The host compiles this function and calls it with its native functions before the script runs.
((native) => {
  "use strict";

  /** Why a call of a tool has no reply. */
  class ToolError extends Error {
    constructor(kind, message, tool, id, reply, stack) {
      super(message);
      this.kind = kind;
      this.tool = tool;
      if (id !== undefined) this.id = id;
      if (reply !== undefined) this.reply = reply;
      // The place of the call, and not of this constructor.
      this.stack = stack;
    }
  }
  Object.defineProperty(ToolError.prototype, "name", { value: "ToolError" });

  /** Starts a call. Returns a promise of the reply, with a function `cancel`. */
  const call = (tool, args = {}) => {
    const { stack } = new Error();
    let cancel;
    const promise = new Promise((resolve, reject) => {
      const text = JSON.stringify(args);
      if (text === undefined) throw new TypeError(`the arguments of ${String(tool)} are no JSON object`);
      const fail = (kind, message, id, reply) =>
        reject(new ToolError(kind, message, String(tool), id, reply, stack));
      cancel = native.start(String(tool), text, resolve, fail);
    });
    return Object.defineProperty(promise, "cancel", { value: cancel });
  };

  /** Returns JSON's own kinds of values for those that JSON leaves out. */
  const plain = (_, value) => {
    if (typeof value === "bigint") return String(value);
    if (value instanceof Map) return Object.fromEntries(value);
    if (value instanceof Set) return [...value];
    if (value instanceof Error) return String(value);
    return value;
  };

  /** Returns a value as `console.log` prints it. */
  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return String(value);
    if (typeof value !== "object" || value === null) return native.display(value);
    try {
      return JSON.stringify(value, plain) ?? native.display(value);
    } catch {
      return native.display(value);
    }
  };
  const print = (...values) => native.print(values.map(show).join(" "));

  const helpers = Object.freeze({
    call,
    search: (query, max = 10) => native.search(String(query), Number(max)),
    describe: async (tool) => {
      const found = (await native.list()).find(({ name }) => name === String(tool));
      if (found === undefined) throw new ReferenceError(`there is no tool ${String(tool)}: see tools.list()`);
      return found;
    },
    list: () => native.list(),
  });
  const tools = new Proxy(helpers, {
    get: (_, name) => {
      // A promise that gets these tools as its value would take a function `then` of theirs for that of a promise.
      if (typeof name === "symbol" || name === "then") return undefined;
      return Object.hasOwn(helpers, name) ? helpers[name] : (args) => call(name, args);
    },
  });

  const sleep = (ms) => new Promise((resolve) => native.startTimer(resolve, Number(ms)));
  const globals = {
    tools,
    ToolError,
    console: { log: print, info: print, debug: print, warn: print, error: print },
    sleep,
    setTimeout: (run, ms = 0, ...values) => native.startTimer(() => run(...values), Number(ms)),
    clearTimeout: (id) => native.endTimer(Number(id)),
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  // The engine breaks where it cannot allocate a text.
  const LONGEST = 2 ** 26;
  const bounded = (name, length) => {
    const original = String.prototype[name];
    const value = function (...values) {
      if (length(this, Number(values[0])) > LONGEST) throw new RangeError("the text would be too long");
      return original.apply(this, values);
    };
    Object.defineProperty(String.prototype, name, { value, writable: true, configurable: true });
  };
  bounded("repeat", (text, times) => String(text).length * times);
  bounded("padStart", (_, length) => length);
  bounded("padEnd", (_, length) => length);
  Object.defineProperty(Math, "random", { value: native.random });

  return {
    /** Returns the text of a value as JSON; undefined if it has none. */
    encode: (value) => JSON.stringify(value, plain),
    /** Returns what is known of a thrown value, as JSON. */
    explain: (thrown) => {
      if (!(thrown instanceof Error)) return JSON.stringify({ name: "thrown", message: show(thrown) });
      const { name, message, kind, tool, stack } = thrown;
      return JSON.stringify({
        name: String(name),
        message: String(message),
        ...(thrown instanceof ToolError ? { kind: String(kind), tool: String(tool) } : {}),
        stack: stack === undefined ? "" : String(stack),
      });
    },
  };
})
