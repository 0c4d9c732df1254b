// The surroundings of a script. The host compiles this function and calls it with its native functions before the script runs.
((native, input) => {
  "use strict";
  const { stringify, parse } = JSON;

  /** Advice for the author of the script. */
  const advice = new Set();

  /** How many halves of surrogate pairs were replaced: UTF-8 and the JSON of others have no text for them. */
  let replaced = 0;
  const wellFormed = (text) => {
    if (text.isWellFormed()) return text;
    replaced += text.match(/\p{Surrogate}/gu).length;
    return text.toWellFormed();
  };

  /** Returns JSON's own kinds of values for those that JSON leaves out. */
  const plain = (_, value) => {
    if (typeof value === "bigint") return String(value);
    if (value instanceof Map) return Object.fromEntries(value);
    if (value instanceof Set) return [...value];
    if (value instanceof Error || value instanceof RegExp) return String(value);
    return value;
  };
  const encode = (value) => {
    const text = stringify(value, plain);
    if (!text?.includes("\\ud")) return text;
    return text.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|[^])/g, (escape, half) => {
      if (half === undefined) return escape;
      replaced += 1;
      return "\\ufffd";
    });
  };

  /** Parts of these surroundings that few scripts need, each evaluated when it is. */
  const parts = new Map();
  const part = (name) => {
    if (!parts.has(name)) parts.set(name, native.load(name)({ native, advice, wellFormed, encode, plain, setTimer, nameOf }));
    return parts.get(name);
  };

  // Calls of tools

  /** Why a call of a tool has no reply. */
  class ToolError extends Error {
    constructor(kind, message, { tool, stack }, id, reply) {
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

  /** The calls that run, by their numbers. */
  const running = new Map();
  /** The tools of promises of calls. */
  const called = new WeakMap();
  /** What waits until there is nothing to wait for. */
  const waiting = [];
  const woken = () => {
    for (const wake of waiting.splice(0)) wake();
  };

  /** Starts a call. Returns a promise of the reply, with a function `cancel`. */
  const call = (name, args = {}) => {
    const tool = wellFormed(String(name));
    const { stack } = new Error();
    const { promise, resolve, reject } = Promise.withResolvers();
    called.set(promise, tool);
    let number = 0;
    try {
      const text = encode(args);
      if (text === undefined) throw new TypeError(`the arguments of ${tool} are no JSON object`);
      const started = native.start(tool, text);
      if (typeof started === "number") {
        number = started;
        running.set(number, { tool, stack, resolve, reject });
      } else {
        reject(new ToolError(...started, { tool, stack }));
      }
    } catch (error) {
      reject(error);
    }
    return Object.defineProperty(promise, "cancel", { value: () => native.cancel(number) });
  };

  /** Takes the end of a call. */
  const settle = (number, id, value, isError, kind = "failed", text = undefined) => {
    const { tool, stack, resolve, reject } = running.get(number);
    running.delete(number);
    if (isError) {
      let message = text;
      if (message === undefined) {
        const error = typeof value === "object" && value !== null && Object.hasOwn(value, "error") ? value.error : value;
        message = typeof error === "string" ? error : encode(value);
      }
      reject(new ToolError(kind, message, { tool, stack }, id, value));
    } else {
      const omitted = value?.truncated?.omitted_bytes;
      if (omitted > 0) advice.add(`The output of ${tool} was cut: ${omitted} bytes are left out of what the script read.`);
      resolve(value);
    }
    woken();
  };

  /** Returns the path of the scratch directory. */
  const scratch = () => {
    const made = native.scratch();
    if (typeof made === "string") return made;
    throw new ToolError(...made, { tool: "scratch", stack: new Error().stack });
  };

  const helpers = Object.freeze({
    call,
    search: async (query, max = 10) => native.search(wellFormed(String(query)), Number(max)),
    describe: async (tool) => {
      const found = native.list().find(({ name }) => name === String(tool));
      if (found === undefined) throw new ReferenceError(`there is no tool ${String(tool)}: see tools.list()`);
      return found;
    },
    list: async () => native.list(),
  });
  const tools = new Proxy(helpers, {
    get: (_, name) => {
      // A promise that gets these tools as its value would take a function `then` of theirs for that of a promise.
      if (typeof name === "symbol" || name === "then" || name === "toJSON") return undefined;
      return Object.hasOwn(helpers, name) ? helpers[name] : (args) => call(name, args);
    },
  });

  // Promises that were not awaited

  const nameOf = (promise) => (called.has(promise) ? `tools.${called.get(promise)}(…)` : "a promise");
  const misused = (promise, how, mended) => {
    const awaited = called.has(promise) ? `await ${nameOf(promise)}` : "await …";
    return new TypeError(`${how} ${nameOf(promise)}, which was not awaited: write ${mended(awaited)}`);
  };
  /** What a promise has no property for would be undefined, and its text "[object Promise]": a missing `await` is told instead. */
  const guard = new Proxy(Object.create(Object.prototype), {
    get: (target, name, promise) => {
      if (name in target || !(promise instanceof Promise) || promise === Promise.prototype) return Reflect.get(target, name, promise);
      if (name === Symbol.toPrimitive)
        return () => {
          throw misused(promise, "there is no text of", (awaited) => awaited);
        };
      if (name === Symbol.iterator) throw misused(promise, "there is nothing to iterate in", (awaited) => `(${awaited})`);
      if (typeof name === "symbol") return undefined;
      if (name === "toJSON") throw misused(promise, "there is no JSON of", (awaited) => awaited);
      throw misused(promise, `\`${name}\` was read from`, (awaited) => `(${awaited}).${name}`);
    },
  });
  Object.setPrototypeOf(Promise.prototype, guard);

  /** Returns a value without promises in it, once they are fulfilled. */
  const settled = async (value) => {
    const seen = new Set();
    const has = (value) => {
      if (typeof value !== "object" || value === null || seen.has(value)) return false;
      if (value instanceof Promise) return true;
      seen.add(value);
      if (value instanceof Map) return [...value.values()].some(has);
      return (value instanceof Set ? [...value] : Object.values(value)).some(has);
    };
    const all = (values) => Promise.all(values.map(settled));
    if (!has(value)) return value;
    if (value instanceof Promise) return settled(await value);
    if (Array.isArray(value)) return all(value);
    if (value instanceof Set) return new Set(await all([...value]));
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    const values = await all(entries.map(([, value]) => value));
    const pairs = entries.map(([key], at) => [key, values[at]]);
    return value instanceof Map ? new Map(pairs) : Object.fromEntries(pairs);
  };

  // Timers

  /** The timers, by their ids; and their ids, by the numbers that they have for the host. */
  const timers = new Map();
  const ids = new Map();
  let lastId = 0;
  const arm = (id, timer) => {
    timer.number = native.startTimer(timer.ms);
    ids.set(timer.number, id);
  };
  const setTimer = (name, run, ms, values, repeats) => {
    if (typeof run !== "function") throw new TypeError(`${name} takes a function, and was given ${show(run)}`);
    const timer = { run: () => run(...values), ms: Number(ms), repeats };
    lastId += 1;
    timers.set(lastId, timer);
    arm(lastId, timer);
    return lastId;
  };
  const clearTimer = (id) => {
    const timer = timers.get(id);
    if (timer === undefined) return;
    native.endTimer(timer.number);
    ids.delete(timer.number);
    timers.delete(id);
    woken();
  };
  const due = (number) => {
    const id = ids.get(number);
    const timer = timers.get(id);
    ids.delete(number);
    if (timer.repeats) arm(id, timer);
    else timers.delete(id);
    try {
      timer.run();
    } finally {
      woken();
    }
  };
  const sleep = (ms) => new Promise((resolve) => setTimer("sleep", resolve, ms, [], false));

  // Printing

  /** Returns a value in JSON as `console.log` prints it. */
  const shown = (key, value) => {
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (value === undefined || typeof value === "function" || typeof value === "symbol") return show(value);
    return plain(key, value);
  };
  const show = (value) => {
    switch (typeof value) {
      case "string":
        return value;
      case "bigint":
        return `${value}n`;
      case "function":
        return `[Function: ${value.name || "(anonymous)"}]`;
      case "object":
        break;
      default:
        return String(value);
    }
    if (value === null) return "null";
    if (value instanceof Promise) {
      advice.add(`console.log was given ${nameOf(value)}, which was not awaited.`);
      return "Promise { <pending> }";
    }
    if (value instanceof Error) return described(value);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    try {
      return stringify(value, shown) ?? Object.prototype.toString.call(value);
    } catch {
      return part("print").inspect(value);
    }
  };
  /** Returns the name and the text of an error, and what caused it. */
  const described = (error, depth = 0) => {
    if (!(error instanceof Error)) return show(error);
    const { cause } = error;
    return cause === undefined || depth > 8 ? String(error) : `${error}; caused by ${described(cause, depth + 1)}`;
  };
  let indent = "";
  const print = (...values) => {
    const isPattern = typeof values[0] === "string" && values[0].includes("%");
    const line = isPattern ? part("print").format(values, show) : values.map(show).join(" ");
    native.print(wellFormed(indent === "" ? line : indent + line.replaceAll("\n", `\n${indent}`)));
  };
  const counts = new Map();
  const begun = new Map();
  const took = (label) => `${label}: ${(performance.now() - begun.get(label)).toFixed(3)}ms`;
  const console = {
    log: print,
    info: print,
    debug: print,
    warn: print,
    error: print,
    trace: print,
    dir: (value) => print(value),
    table: (rows, columns) => print(part("print").table(rows, columns, show)),
    group: (...values) => {
      if (values.length > 0) print(...values);
      indent += "  ";
    },
    groupEnd: () => {
      indent = indent.slice(2);
    },
    time: (label = "default") => void begun.set(label, performance.now()),
    timeLog: (label = "default", ...values) => begun.has(label) && print(took(label), ...values),
    timeEnd: (label = "default") => {
      console.timeLog(label);
      begun.delete(label);
    },
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      print(`${label}: ${counts.get(label)}`);
    },
    countReset: (label = "default") => void counts.delete(label),
    assert: (holds, ...values) => {
      if (!holds) print(values.length === 0 ? "Assertion failed" : "Assertion failed:", ...values);
    },
  };
  console.groupCollapsed = console.group;

  // The rest of what scripts find

  const define = (object, name, value) =>
    Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
  const globals = {
    tools,
    ToolError,
    console,
    input,
    scratch,
    sleep,
    setTimeout: (run, ms = 0, ...values) => setTimer("setTimeout", run, ms, values, false),
    setInterval: (run, ms = 0, ...values) => setTimer("setInterval", run, ms, values, true),
    setImmediate: (run, ...values) => setTimer("setImmediate", run, 0, values, false),
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    clearImmediate: clearTimer,
  };
  for (const [name, value] of Object.entries(globals)) define(globalThis, name, value);
  define(Math, "random", native.random);

  const lazy = {
    web: ["URL", "URLSearchParams", "TextEncoder", "TextDecoder", "AbortController", "AbortSignal", "Event", "EventTarget", "structuredClone", "crypto"],
    locale: ["Intl"],
  };
  for (const [from, names] of Object.entries(lazy)) {
    for (const name of names) {
      Object.defineProperty(globalThis, name, {
        get: () => {
          define(globalThis, name, part(from)[name]);
          return globalThis[name];
        },
        set: (value) => define(globalThis, name, value),
        configurable: true,
      });
    }
  }
  const localized = [
    [Number, "toLocaleString"],
    [BigInt, "toLocaleString"],
    [Date, "toLocaleString"],
    [Date, "toLocaleDateString"],
    [Date, "toLocaleTimeString"],
    [String, "localeCompare"],
    [String, "toLocaleUpperCase"],
    [String, "toLocaleLowerCase"],
  ];
  for (const [type, method] of localized) {
    const name = `${type.name}.${method}`;
    define(type.prototype, method, {
      [method](...values) {
        return part("locale")[name](this, ...values);
      },
    }[method]);
  }

  // A date may have a line end behind it, as commands print it, and small letters.
  const parseDate = Date.parse;
  const readable = (text) => text.trim().replace(/^[-+\d]+t[\d:.]+(z|[-+][\d:]+)?$/, (date) => date.toUpperCase());
  const date = new Proxy(Date, {
    construct: (target, values, made) =>
      Reflect.construct(target, values.length === 1 && typeof values[0] === "string" ? [readable(values[0])] : values, made),
  });
  define(Date, "parse", (text) => parseDate(readable(String(text))));
  define(Date.prototype, "constructor", date);
  define(globalThis, "Date", date);

  /** Says why a text is no JSON, where it is the reply of a tool that causes it. */
  define(JSON, "parse", (text, reviver) => {
    try {
      return parse(text, reviver);
    } catch (error) {
      throw error instanceof SyntaxError ? part("print").noJson(text, error) : error;
    }
  });

  // No text becomes code.
  const off = () => {
    throw new EvalError("`eval` and `Function` are off: a script runs no text as code");
  };
  define(globalThis, "eval", off);
  for (const made of [() => {}, async () => {}, function* () {}, async function* () {}]) {
    const { prototype, name } = made.constructor;
    const constructor = Object.defineProperty(function () { off(); }, "name", { value: name });
    Object.defineProperty(constructor, "prototype", { value: prototype });
    Object.defineProperty(prototype, "constructor", { value: constructor });
    if (name === "Function") define(globalThis, name, constructor);
  }

  return {
    settle,
    due,
    /** Runs a script. Returns a promise of the JSON of what it returns. */
    run: async (body) => {
      const value = await settled(await body());
      if (running.size > 0) {
        const calls = running.size === 1 ? "one of its calls" : `${running.size} of its calls`;
        advice.add(`The script returned while ${calls} still ran: await them. forEach awaits nothing: use for…of, or await Promise.all(xs.map(async (x) => …)).`);
      }
      // A script that returned nothing may have called a function without `await`, which may sleep.
      const isBusy = () => running.size > 0 || (value === undefined && [...timers.values()].some(({ repeats }) => !repeats));
      while (isBusy()) await new Promise((wake) => waiting.push(wake));
      try {
        return encode(value);
      } catch (error) {
        if (error instanceof Error) error.message = `the returned value has no JSON: ${error.message}`;
        throw error;
      }
    },
    /** Returns what is known of a thrown value, as JSON. */
    explain: (thrown) => {
      const text = (value) => wellFormed(String(value));
      if (!(thrown instanceof Error)) return encode({ name: "thrown", message: show(thrown) });
      const { name, message, kind, tool, stack, cause, errors } = thrown;
      return stringify({
        name: text(name),
        message: text(message),
        ...(thrown instanceof ToolError ? { kind: text(kind), tool: text(tool) } : {}),
        ...(cause === undefined ? {} : { cause: wellFormed(described(cause)) }),
        ...(Array.isArray(errors) ? { errors: errors.slice(0, 10).map((error) => wellFormed(described(error))) } : {}),
        stack: stack === undefined ? "" : text(stack),
      });
    },
    /** Returns the advice for the author of the script. */
    notes: () => {
      const notes = [...advice];
      if (replaced > 0) notes.push(`${replaced === 1 ? "Half of a surrogate pair was" : `${replaced} halves of surrogate pairs were`} replaced by U+FFFD.`);
      return notes;
    },
  };
})
