//! The texts of hostile scripts: the tests look how each ends, a benchmark what it does to the calls of other chats.

/// How a hostile script ends.
pub(crate) enum Ends {
    /// The host ends it, with this text.
    Limit(&'static str),
    /// It fails with an error of this name.
    Error(&'static str),
    /// The engine ends it with an error, or the host at a limit, whichever is reached first.
    Bound,
    /// It returns this.
    Returns(&'static str),
}
use Ends::{Bound, Error, Limit, Returns};

const TIME: Ends = Limit("guest time limit of 500 ms reached");

/// The scripts, which are all different.
pub(crate) const SCRIPTS: &[(&str, Ends)] = &[
    // Loops that never end.
    ("for (;;) {}", TIME),
    ("while (true) { try { throw 1 } catch {} }", TIME),
    (
        "for (;;) { try { for (;;) {} } finally { continue } }",
        TIME,
    ),
    (
        "(function* () { for (;;) yield 1 })().forEach(() => {}); for (;;) {}",
        TIME,
    ),
    (
        "const f = async () => { for (;;) await null }; await f()",
        TIME,
    ),
    (
        "const f = () => Promise.resolve().then(f); await f()",
        Bound,
    ),
    ("const f = () => queueMicrotask(f); f()", TIME),
    ("await { then(resolve) { for (;;) {} } }", TIME),
    ("const o = { then(resolve) { resolve(o) } }; await o", TIME),
    (
        "[...{ *[Symbol.iterator]() { for (;;) yield 0 } }].length; for (;;) {}",
        Bound,
    ),
    (
        "const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x",
        Bound,
    ),
    ("/(a+)+$/.test('a'.repeat(40) + 'b'); for (;;) {}", TIME),
    ("let s = 1n; for (;;) s = s * 3n ** 1000n", Bound),
    (
        "Array.prototype.map.call({ length: 2 ** 53 - 1 }, (x) => x)",
        Error("RangeError"),
    ),
    ("new Array(2 ** 32 - 1).fill(0)", Bound),
    ("for (let i = 0; ; i++) setTimeout(() => {}, 1e9)", Bound),
    // Recursion.
    ("const f = () => f(); f()", Error("RangeError")),
    ("const f = () => { try { f() } catch { f() } }; f()", Bound),
    ("const f = (x) => [x].map(f); f(1)", Bound),
    ("const o = { get x() { return this.x } }; o.x", Bound),
    (
        "const o = { toString() { return `${o}` } }; return `${o}`",
        Error("RangeError"),
    ),
    (
        "const o = { toJSON() { return JSON.stringify(o) } }; return o",
        Bound,
    ),
    (
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
        Bound,
    ),
    (
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a)",
        Bound,
    ),
    (
        "const f = async () => { await f() }; await f()",
        Error("RangeError"),
    ),
    ("return JSON.parse('['.repeat(1e5))", Bound),
    (
        "class A { constructor() { new A() } } new A()",
        Error("RangeError"),
    ),
    ("const a = []; a[0] = a; a.flat(Infinity)", Bound),
    // Memory.
    ("const a = []; for (;;) a.push('x'.repeat(1 << 20))", Bound),
    ("let s = 'x'; for (;;) s += s", Error("RangeError")),
    ("'x'.repeat(2 ** 31)", Error("RangeError")),
    ("new ArrayBuffer(2 ** 40)", Error("RangeError")),
    (
        "const a = []; for (;;) a.push(new ArrayBuffer(1 << 24))",
        Bound,
    ),
    (
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, new Array(1e4).fill(i))",
        Bound,
    ),
    ("'x'.padEnd(2 ** 30)", Error("RangeError")),
    (
        "const o = {}; for (let i = 0; ; i++) o['key' + i] = i",
        Bound,
    ),
    ("for (;;) console.log('x'.repeat(1 << 16))", TIME),
    (
        "await Promise.all(Array.from({ length: 1e7 }, () => new Promise(() => {})))",
        Bound,
    ),
    ("return 'x'.repeat(1e6).length", Returns("1000000")),
    // What is around the script.
    ("eval('1')", Error("EvalError")),
    ("new Function('return this')()", Error("EvalError")),
    (
        "(function* () {}).constructor('yield 1')",
        Error("EvalError"),
    ),
    ("await import('fs')", Error("SyntaxError")),
    ("require('child_process')", Error("ReferenceError")),
    ("process.exit(1)", Error("ReferenceError")),
    ("fetch('http://127.0.0.1')", Error("ReferenceError")),
    (
        "return typeof WebAssembly + typeof Deno + typeof globalThis.native",
        Returns("\"undefinedundefinedundefined\""),
    ),
    ("})(); (async () => {", Error("SyntaxError")),
    ("return this === undefined", Returns("true")),
    (
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)",
        Error("ReferenceError"),
    ),
    // Tools.
    ("await tools['../execute']()", Error("ToolError")),
    (
        "await tools['execute\\u0000']({ command: 'true' })",
        Error("ToolError"),
    ),
    ("await tools.run_script({ code: '1' })", Error("ToolError")),
    ("await tools.call('__proto__', {})", Error("ToolError")),
    (
        "await tools.process_list('x'.repeat(2 << 20))",
        Error("ToolError"),
    ),
    (
        "await tools.process_list({ get a() { return tools.process_list({ a: 1 }) } })",
        Error("TypeError"),
    ),
    (
        "const a = {}; a.a = a; await tools.process_list(a)",
        Error("TypeError"),
    ),
    (
        "tools.call = null; return typeof tools.call",
        Error("TypeError"),
    ),
    (
        "Object.prototype.command = 'touch forged'; Object.prototype.then = undefined; await tools.execute({})",
        Error("ToolError"),
    ),
    (
        "Object.defineProperty(Object.prototype, 'error', { get() { throw 1 } }); await tools.process_list()",
        Returns("null"),
    ),
    (
        "let n = 0; Object.prototype.then = function (r) { n++ < 3 ? tools.process_list() : r(1) }; await tools.process_list()",
        Error("Error"),
    ),
    (
        "throw { get message() { for (;;) {} }, get name() { for (;;) {} } }",
        TIME,
    ),
    (
        "throw Object.defineProperty(new Error('x'), 'message', { get() { for (;;) {} } })",
        TIME,
    ),
    ("Promise.prototype.then = null; await 1", Returns("null")),
    ("Promise.reject(new Error('left'))", Error("Error")),
    ("await new Promise(() => {})", Error("Error")),
];

/// Starts more calls of a tool that does not exist than one call may make.
pub(crate) const UNKNOWN: &str =
    "const ends = await Promise.allSettled(Array.from({ length: 3_000 }, () => tools.nothing()));
        return [ends.length, new Set(ends.map(({ reason }) => reason.kind))]";

/// Starts more calls of a tool than one call may make.
pub(crate) const KNOWN: &str = "const ends = await Promise.allSettled(Array.from({ length: 1_100 }, () => tools.process_list()));
        const failed = ends.filter(({ status }) => status === 'rejected');
        return [ends.length - failed.length, new Set(failed.map(({ reason }) => reason.kind))]";
