//! Scripts with tools that answer as a test says.

use super::*;

use std::time::Duration;

use serde_json::json;
use toolhost_sdk::calls::{Content, Error, Reply, Tool, Waited};
use toolhost_sdk::testing::{FakeCall, FakeCalls};

/// The tools of these tests: `echo` replies with its arguments, `text` with a text, `fail` with an error, `refuse` is denied.
#[derive(Debug)]
struct Tools(FakeCalls);

impl Tools {
    fn new() -> Self {
        Self(FakeCalls::new(
            &["echo", "text", "fail", "refuse"],
            |tool, arguments| match tool {
                "echo" => FakeCalls::json(arguments),
                "refuse" => Err(Error::Denied("not today".into())),
                _ => Ok(Reply {
                    content: vec![Content::Text(format!("the text of {tool}"))],
                    is_error: tool == "fail",
                    processes: Vec::new(),
                }),
            },
        ))
    }
}

impl Calls for Tools {
    type Call = FakeCall;

    fn tools(&self) -> Result<Vec<Tool>, Error> {
        self.0.tools()
    }

    fn search(&self, query: &str, max: u32) -> Result<Vec<Tool>, Error> {
        self.0.search(query, max)
    }

    fn start(&self, tool: &str, arguments: &str) -> Result<FakeCall, Error> {
        self.0.start(tool, arguments)
    }

    fn scratch(&self) -> Result<String, Error> {
        self.0.scratch()
    }

    fn wait_any(&self, calls: &[&FakeCall], timeout: Duration) -> Result<Waited, Error> {
        if calls.is_empty() {
            // As a host does.
            std::thread::sleep(timeout);
        }
        self.0.wait_any(calls, timeout)
    }

    fn reply(&self, call: &FakeCall) -> Option<Result<Reply, Error>> {
        self.0.reply(call)
    }

    fn id(&self, call: &FakeCall) -> String {
        self.0.id(call)
    }

    fn cancel(&self, call: &FakeCall) {
        self.0.cancel(call);
    }
}

fn report(code: &str) -> Value {
    let report = run(Tools::new(), code, &json!({ "n": 2 }), 7).expect("nothing was cancelled");
    serde_json::to_value(report).expect("a report is JSON")
}

fn result(code: &str) -> Value {
    let report = report(code);
    assert_eq!(report["success"], true, "{code}: {report}");
    report["result"].clone()
}

fn error(code: &str) -> Value {
    let report = report(code);
    assert_eq!(report["success"], false, "{code}: {report}");
    report["error"].clone()
}

#[test]
fn a_script_returns_its_answer() {
    let cases = [
        ("return 1", json!(1)),
        ("return input.n * 21", json!(42)),
        (
            "const a: number[] = [3, 1]; return a.toSorted()",
            json!([1, 3]),
        ),
        (
            "return new Map([['a', new Set([1n])]])",
            json!({ "a": ["1"] }),
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(result(code), expected, "{code}");
    }
    assert_eq!(result("return null"), json!(null));
    assert!(
        report("1")["note"]
            .as_str()
            .is_some_and(|note| note.contains("`return`"))
    );
    assert_eq!(
        report("console.log('a', {b: [1]}, undefined, null, new Error('e'))")["output"],
        "a {\"b\":[1]} undefined null Error: e\n"
    );
}

#[test]
fn tools_reply_with_values() {
    assert_eq!(
        result("return await tools.echo({a: [1]})"),
        json!({ "a": [1] })
    );
    assert_eq!(result("return await tools.text()"), "the text of text");
    assert_eq!(
        result("return (await Promise.all([1, 2, 3].map((n) => tools.echo({n})))).map(({n}) => n)"),
        json!([1, 2, 3])
    );
    assert_eq!(
        result("return await tools.call('echo', {a: 1})"),
        json!({ "a": 1 })
    );
    assert_eq!(result("return (await tools.search('ec'))[0].name"), "echo");
    assert_eq!(
        result("return (await tools.describe('echo')).input_schema"),
        json!({ "type": "object" })
    );
    assert_eq!(result("return (await tools.list()).length"), 4);
    assert_eq!(report("await tools.echo(); await tools.echo()")["calls"], 2);
}

#[test]
fn a_failed_call_is_a_typed_error() {
    let code = "try { await tools.refuse() } catch (e) { return [e instanceof ToolError, e.kind, e.tool, e.message, e.name] }";
    assert_eq!(
        result(code),
        json!([true, "denied", "refuse", "not today", "ToolError"])
    );
    let code = "try { await tools.fail() } catch (e) { return [e.kind, e.message, e.reply, e.id] }";
    assert_eq!(
        result(code),
        json!(["failed", "the text of fail", "the text of fail", "test/1"])
    );
    let code = "try { await tools.nothing() } catch (e) { return e.kind }";
    assert_eq!(result(code), "unknown_tool");
    assert_eq!(
        error("const a = 1;\n  await tools.refuse({ a });"),
        json!({
            "name": "ToolError", "message": "not today", "kind": "denied", "tool": "refuse",
            "line": 2, "column": 15, "source": "await tools.refuse({ a });",
        })
    );
}

#[test]
fn errors_name_their_place() {
    let code = "function f(x: any) {\n  return x.y.z;\n}\n\nf({});";
    let error_of = error(code);
    assert_eq!(
        (&error_of["name"], &error_of["line"], &error_of["source"]),
        (&json!("TypeError"), &json!(2), &json!("return x.y.z;")),
        "{error_of}"
    );
    let error_of = error("\nthrow new RangeError('out')");
    assert_eq!(
        (&error_of["name"], &error_of["message"], &error_of["line"]),
        (&json!("RangeError"), &json!("out"), &json!(2)),
        "{error_of}"
    );
    let error_of = error("const a = 1;\nlet b = = 2;");
    assert_eq!(
        (&error_of["name"], &error_of["line"], &error_of["column"]),
        (&json!("SyntaxError"), &json!(2), &json!(9)),
        "{error_of}"
    );
    assert_eq!(error("throw 'a word'")["message"], "a word");
    assert_eq!(error("undefinedName()")["name"], "ReferenceError");
}

#[test]
fn what_is_not_awaited_is_waited_for_and_its_errors_are_told() {
    assert_eq!(
        report("tools.echo({a: 1}).then((r) => console.log(r)); return 1")["output"],
        "{\"a\":1}\n"
    );
    let failed = error("tools.refuse(); return 1");
    assert!(
        failed["message"]
            .as_str()
            .is_some_and(|text| text == "not today (the promise of this error was not awaited)"),
        "{failed}"
    );
    let idle = error("await new Promise(() => {})");
    assert!(
        idle["message"]
            .as_str()
            .is_some_and(|text| text.contains("cannot happen")),
        "{idle}"
    );
}

#[test]
fn timers_run_in_their_order() {
    let code = "
        const seen = [];
        setTimeout((word) => seen.push(word), 20, 'late');
        const never = setTimeout(() => seen.push('never'), 10);
        clearTimeout(never);
        setTimeout(() => seen.push('early'));
        await sleep(30);
        return seen";
    assert_eq!(result(code), json!(["early", "late"]));
}

#[test]
fn a_call_can_be_cancelled() {
    let code =
        "const call = tools.echo(); call.cancel(); try { await call } catch (e) { return e.kind }";
    assert_eq!(result(code), "cancelled");
}

#[test]
fn a_cancelled_script_has_no_report() {
    let tools = Tools::new();
    tools.0.cancel_all();
    assert_eq!(
        run(tools, "await tools.echo()", &Value::Null, 0).err(),
        Some(Cancelled)
    );
}

#[test]
fn no_text_becomes_code() {
    for code in [
        "eval('1')",
        "new Function('return 1')()",
        "(0, eval)('1')",
        "(async () => {}).constructor('return 1')()",
    ] {
        assert_eq!(error(code)["name"], "EvalError", "{code}");
    }
    assert_eq!(error("require('fs')")["name"], "ReferenceError");
}

#[test]
fn random_numbers_repeat_with_the_call() {
    let code = "return [Math.random(), Math.random()]";
    assert_eq!(result(code), result(code));
    let numbers = result(code);
    assert_ne!(numbers[0], numbers[1]);
}

#[test]
fn long_results_and_outputs_lose_their_middle() {
    let long = report("return 'x'.repeat(100_000)");
    assert!(
        long["result_cut"]
            .as_str()
            .is_some_and(|text| text.len() <= toolhost_view::CAP
                && text.starts_with("\"xx")
                && text.ends_with("xx\"")),
        "{long}"
    );
    let long = report("for (let i = 0; i < 20_000; i++) console.log('line', i)");
    assert!(
        long["output"]
            .as_str()
            .is_some_and(|text| text.starts_with("line 0\n") && text.ends_with("line 19999\n"))
    );
    assert!(
        long["omitted_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 0)
    );
}

#[test]
fn values_without_json_say_so() {
    let cyclic = error("const a = {}; a.a = a; return a");
    assert!(
        cyclic["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("the returned value has no JSON: ")),
        "{cyclic}"
    );
    assert_eq!(
        report("const a = {}; a.a = a; console.log(a)")["success"],
        true
    );
}

#[test]
fn hostile_objects_break_nothing() {
    for code in [
        "let n = 0; Object.prototype.then = function () { if (n++ < 9) tools.echo() }; tools.echo({a: 1})",
        "Object.defineProperty(Object.prototype, 'error', { get() { tools.echo(); return 1 } }); await tools.echo()",
        "await tools.echo({ get a() { tools.echo(); return 1 } })",
        "throw { get message() { throw 1 } }",
        "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw e } }); throw e",
        "globalThis.tools = null; globalThis.console = 1; JSON.stringify = null; return {}",
        "return tools",
        "await tools",
        "tools.echo = 1",
        "delete tools.call; tools.then",
        "return { toJSON() { throw new Error('no') } }",
        "const f = () => f(); f()",
        "Promise.reject(1); Promise.prototype.then = null; await tools.echo()",
        "await tools.echo(Symbol())",
        "tools[Symbol.iterator]; for (const k in tools) tools[k]",
    ] {
        let report = report(code);
        assert!(report["success"].is_boolean(), "{code}");
    }
}

#[test]
fn a_missing_await_is_told() {
    for (code, text) in [
        (
            "return tools.echo({}).a",
            "`a` was read from tools.echo(…), which was not awaited: write (await tools.echo(…)).a",
        ),
        (
            "return `${tools.echo({})}`",
            "there is no text of tools.echo(…), which was not awaited: write await tools.echo(…)",
        ),
        (
            "const f = async () => 1; return f() + 1",
            "there is no text of a promise, which was not awaited: write await …",
        ),
        (
            "return JSON.stringify([tools.echo({})])",
            "there is no JSON of tools.echo(…), which was not awaited: write await tools.echo(…)",
        ),
        (
            "return [...tools.echo({})]",
            "there is nothing to iterate in tools.echo(…), which was not awaited: write (await tools.echo(…))",
        ),
        (
            "return await tools.echo({ a: tools.text() })",
            "there is no JSON of tools.text(…), which was not awaited: write await tools.text(…)",
        ),
    ] {
        let error = error(code);
        assert_eq!(
            (&error["name"], &error["message"]),
            (&json!("TypeError"), &json!(text))
        );
    }
    assert_eq!(
        result(
            "return { a: tools.echo({ b: 1 }), c: [tools.text()], d: new Map([['e', tools.echo({})]]) }"
        ),
        json!({ "a": { "b": 1 }, "c": ["the text of text"], "d": { "e": {} } })
    );
    let printed = report("console.log(tools.echo({}))");
    assert_eq!(printed["output"], "Promise { <pending> }\n");
    assert!(
        printed["note"]
            .as_str()
            .is_some_and(|note| note.contains("was given tools.echo(…)"))
    );
}

#[test]
fn what_a_script_began_without_await_ends_before_its_report() {
    let code = "const seen = []; [1, 2].forEach(async (n) => seen.push((await tools.echo({ n })).n)); return seen";
    let late = report(code);
    assert_eq!(late["result"], json!([2, 1]));
    assert!(
        late["note"]
            .as_str()
            .is_some_and(|note| note.contains("2 of its calls still ran")),
        "{late}"
    );
    let slept = report("(async () => { await sleep(5); console.log('slept') })()");
    assert_eq!(slept["output"], "slept\n");
    // A script with an answer waits for no timer: it may be that of a race.
    let raced =
        "return Promise.race([1, new Promise((_, reject) => setTimeout(reject, 3_600_000))])";
    assert_eq!(result(raced), 1);
}

#[test]
fn errors_name_what_they_are_about() {
    for (code, text) in [
        (
            "const o = {}; o.a.b.c()",
            "cannot read property 'b' of undefined: o.a is undefined",
        ),
        (
            "const o = { a: null }; o.a[0]",
            "cannot read property '0' of null: o.a is null",
        ),
        (
            "const o = {}; o.a.b = 1",
            "cannot set property 'b' of undefined: o.a is undefined",
        ),
        ("const o = {}; o.m(1)", "o.m is not a function"),
        ("const o = {}, x = 1; o.m(x)", "o.m is not a function"),
        (
            "const f = 1, x = 1; console.log(f(x))",
            "f is not a function",
        ),
        (
            "const f = () => 1, g = 1, x = 1; f(g(x))",
            "g or f is not a function",
        ),
        ("[1].map((x) => x.foo())", "x.foo is not a function"),
        ("const o = {}; new o.Foo()", "o.Foo is not a function"),
        ("[1].map(5)", "an argument of [1].map is not a function"),
        ("const o = { a: 5 }; [...o.a]", "o.a is not iterable"),
        (
            "const o = {}; for (const x of o.a) {}",
            "o.a is not iterable: it is undefined",
        ),
        (
            "const o = {};\nconst [x] = o.a",
            "o.a is not iterable: it is undefined",
        ),
        (
            "const o = {};\nconst { x } = o.a",
            "o.a has no properties: it is undefined or null",
        ),
        (
            "const f = () => f() + 1; f()",
            "functions call each other too deep: end the recursion, or use a loop",
        ),
        (
            "const a = {}; a.a = a; JSON.stringify(a)",
            "JSON has no text of a value that contains itself",
        ),
    ] {
        let error = error(code);
        assert_eq!(error["message"], text, "{code}");
        assert!(
            error["line"].as_u64() > Some(0) && error["source"].is_string(),
            "{error}"
        );
    }
}

#[test]
fn what_is_missing_has_something_instead() {
    for name in [
        "require('fs')",
        "process.argv",
        "fetch('x')",
        "Buffer.from('')",
        "fs.x",
        "Temporal.Now",
    ] {
        let error = error(name);
        let message = error["message"].as_str().unwrap_or_default();
        let (_, instead) = message
            .split_once(" is not defined: ")
            .unwrap_or_else(|| panic!("{error}"));
        assert!(!instead.is_empty() && error["line"] == 1, "{error}");
    }
    assert_eq!(result("return typeof require"), "undefined");
    assert_eq!(
        error("return new Intl.PluralRules()")["name"],
        "ReferenceError"
    );
}

#[test]
fn dates_are_read_as_commands_print_them() {
    let code = "return ['Thu, 26 Nov 2026 10:00:00 +0000\\n', 'Thu Nov 26 10:00:00 UTC 2026\\n', '2026-11-26t10:00:00z']
        .map((text) => [new Date(text).toISOString(), Date.parse(text), new Date(text) instanceof Date])";
    let date = json!(["2026-11-26T10:00:00.000Z", 1_795_687_200_000_u64, true]);
    assert_eq!(result(code), json!([date, date, date]));
    let code = "return new (class A extends Date {})(0).toISOString()";
    assert_eq!(result(code), "1970-01-01T00:00:00.000Z");
}

#[test]
fn halves_of_surrogate_pairs_are_replaced_and_counted() {
    let report = report(
        "console.log('\\udc00'); return { '\\ud800': ['a\\ud800', '\\\\ud800', '\\ud83d\\ude00'] }",
    );
    assert_eq!(report["output"], "\u{fffd}\n");
    assert_eq!(
        report["result"],
        json!({ "\u{fffd}": ["a\u{fffd}", "\\ud800", "\u{1f600}"] })
    );
    let note = "3 halves of surrogate pairs were replaced by U+FFFD.";
    assert_eq!(report["note"], note);
    assert_eq!(error("throw new Error('\\ud800')")["message"], "\u{fffd}");
}
