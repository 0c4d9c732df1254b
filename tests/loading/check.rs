//! `toolhost plugin check`: every promise of a plugin, each with its line.

use std::process::Command;

use serde_json::Value;

use super::inspect::Component;
use super::made::{self, Reply, Says, Tool};
use crate::guest::guest;
use crate::harness::program;

/// A plugin with one tool that promises a sum, and these examples.
fn adder(reply: &Reply, examples: &[(&str, &str, bool)]) -> Vec<u8> {
    let examples = examples
        .iter()
        .map(|(name, arguments, is_error)| ((*name).into(), (*arguments).into(), *is_error));
    let tool = Tool {
        name: "add".into(),
        input: r#"{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}"#.into(),
        output: Some(
            r#"{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}"#.into(),
        ),
        examples: examples.collect(),
        ..Tool::default()
    };
    made::plugin(&Says::Tools(vec![tool]), reply)
}

fn check(component: &[u8], arguments: &[&str]) -> (i32, String) {
    let (code, text, errors) = Component::new("adder.wasm", component).run("check", arguments);
    // A busy machine takes so long to compile that the program says so.
    let errors = errors
        .lines()
        .filter(|line| !line.contains(" INFO compiling; "));
    assert_eq!(errors.collect::<Vec<_>>(), [""; 0]);
    (code, text)
}

#[test]
fn what_keeps_its_promises_passes() {
    let (code, text) = check(
        &adder(
            &Reply::Json(r#"{"sum":3}"#),
            &[("one", r#"{"a":1}"#, false)],
        ),
        &[],
    );
    insta::assert_snapshot!(text, @r#"
ok       component       SIZE bytes, sha256 SHA256
ok       load            it fits the world plugin and lists 1 tool
ok       tool add        its name, texts and schemas are sound
ok       example of add  one
adder: 4 ok, 0 failed
"#);
    assert_eq!(code, 0);
    let (code, text) = check(
        &adder(&Reply::Invalid("a is missing"), &[("none", "{}", true)]),
        &["--json"],
    );
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (code, &report["ok"], &report["sha256"]),
        (0, &true.into(), &"SHA256".into()),
        "{text}"
    );
}

#[test]
fn a_second_check_compiles_nothing_where_the_environment_names_no_home() {
    let base = tempfile::tempdir().unwrap();
    let component = base.path().join("adder.wasm");
    std::fs::write(&component, adder(&Reply::Json(r#"{"sum":3}"#), &[])).unwrap();
    let check = || {
        let output = Command::new(program())
            .env_clear()
            .args(["--log", "toolhost=debug", "--state-dir"])
            .arg(base.path().join("state"))
            .args(["plugin", "check"])
            .arg(&component)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let first = check();
    assert!(first.contains("code cache miss"), "{first}");
    let second = check();
    assert!(second.contains("code cache hit"), "{second}");
}

#[test]
fn each_broken_promise_has_its_line() {
    let good = [("good", r#"{"a":1}"#, false)];
    let lines = |reply: Reply, examples: &[(&str, &str, bool)]| {
        let component = Component::new("adder.wasm", &adder(&reply, examples));
        let (code, text, _) = component.run("check", &["--log", "error"]);
        assert_eq!(code, 1, "{text}");
        let failed: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("FAILED"))
            .collect();
        failed.join("\n")
    };
    let wrong = [
        ("no object", "[]", false),
        ("not JSON", "{", true),
        ("too little", "{}", false),
        ("should fail", "{}", true),
    ];
    insta::assert_snapshot!(lines(Reply::Json(r#"{"sum":3}"#), &wrong), @r#"
FAILED   example of add  no object: the arguments must be a JSON object, not an array
FAILED   example of add  not JSON: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
FAILED   example of add  too little: its arguments do not fit the input schema: "a" is a required property
FAILED   example of add  should fail: it should report an error, and does not
"#);
    insta::assert_snapshot!(lines(Reply::Json(r#"{"sum":"3"}"#), &good), @r#"FAILED   example of add  good: its json part does not fit the output schema: "3" is not of type "number", at /sum"#);
    insta::assert_snapshot!(lines(Reply::Text("3"), &good), @"FAILED   example of add  good: the tool has an output schema, and its reply has no json part");
    insta::assert_snapshot!(lines(Reply::Error("no\u{1b}[2J"), &good), @r#"FAILED   example of add  good: it reports an error: no\u{1b}[2J"#);
    insta::assert_snapshot!(lines(Reply::Invalid("never"), &good), @"FAILED   example of add  good: it failed: never");
    // An example cannot promise that the tool breaks.
    let trap = lines(Reply::Trap, &[("trap", "{}", true)]);
    // A slow machine looks at the time first, at the offset before.
    insta::assert_snapshot!(trap.replace(" at 0xb5", " at 0xb6"), @"FAILED   example of add  trap: it failed: the tool is broken: wasm trap: wasm `unreachable` instruction executed, in function 1 at 0xb6");
}

/// A provider that does not take one schema refuses all tools.
#[test]
fn schemas_that_a_provider_refuses_are_told() {
    let tool = |name: &str, input: &str| Tool {
        name: name.into(),
        input: input.into(),
        ..Tool::default()
    };
    let long = "with_a_name_of_thirty_one_bytes";
    let tools = vec![
        tool(
            "odd",
            r#"{"type":"object","properties":{"a b":{"type":"string"}}}"#,
        ),
        tool(
            long,
            r#"{"type":"object","anyOf":[{"required":["a"]},{"properties":{"b":true}}]}"#,
        ),
    ];
    let plugin = made::plugin(&Says::Tools(tools), &Reply::Text("x"));
    let component = Component::new("a_plugin_with_a_long_name.wasm", &plugin);
    let lines = |arguments: &[&str]| {
        let (code, text, _) = component.run("check", arguments);
        let told = text.lines().filter(|line| line.contains(" tool "));
        let told = told.filter(|line| {
            !line.starts_with("ok") && !line.contains("examples") && !line.contains("description")
        });
        (code, told.collect::<Vec<_>>().join("\n"))
    };
    let (code, told) = lines(&[]);
    assert_eq!(code, 0, "{told}");
    insta::assert_snapshot!(told, @r#"
note     tool odd                              it is not offered in the format anthropic or bedrock: the name of its argument "a b" is refused there: it must match [a-zA-Z0-9_.-]{1,64}
note     tool with_a_name_of_thirty_one_bytes  its full name a_plugin_with_a_long_name__with_a_name_of_thirty_one_bytes has 58 bytes: with more than 49, clients of MCP that put mcp__toolhost__ before it exceed the 64 bytes of providers
"#);
    let (code, told) = lines(&["--format", "all"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.starts_with("FAILED"), "{told}");
    assert_eq!(lines(&["--format", "anthropic"]).0, 1);
    assert_eq!(lines(&["--format", "openai"]).0, 0);
    let (code, _, errors) = component.run("check", &["--format", "claude"]);
    assert_eq!(code, 2);
    assert!(errors.contains("the formats are json, openai"), "{errors}");
}

#[test]
fn what_does_not_load_fails() {
    let (code, text) = check(b"hello", &[]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(text, @r#"
FAILED   component  this is not a WebAssembly component: it does not begin as WebAssembly does: give the .wasm file that your build made
adder: 0 ok, 1 failed
"#);
    let (code, text) = check(&made::names(&[], &["wasi:cli/run@0.2.0"]), &[]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(text, @r#"
ok       component  SIZE bytes, sha256 SHA256
FAILED   load       the component exports wasi:cli/run@0.2.0: it is a program, not a plugin; build it against a world of toolhost:plugin, which exports toolhost:plugin/tools@0.1.0
adder: 1 ok, 1 failed
"#);
}

/// Commands of a stranger reach whatever the user can, so they run only if that is asked for.
#[test]
fn examples_with_processes_run_only_if_that_is_granted() {
    let shell = toolhost_artifacts::SHELL;
    let component = Component::new("shell.wasm", shell);
    let (code, text, _) = component.run("check", &[]);
    assert_eq!(code, 0, "{text}");
    let count = |status: &str| text.lines().filter(|line| line.starts_with(status)).count();
    assert_eq!((count("skipped") > 0, count("FAILED")), (true, 0), "{text}");
    let (code, text, errors) = component.run("check", &["--grant", "processes=own"]);
    assert_eq!((code, errors.as_str()), (0, ""), "{text}");
    assert!(
        !text.contains("skipped") && text.contains("ok       example of execute"),
        "{text}"
    );
}

/// The guest uses up the default of the guest time; other tests lower it.
#[test]
fn a_looping_plugin_is_stopped() {
    let (code, text) = check(&guest("loop_in_list_tools"), &[]);
    assert_eq!(code, 1);
    assert!(
        text.contains("guest time limit of 2000 ms reached"),
        "{text}"
    );
}

#[test]
fn bad_grants_are_bad_usage() {
    let component = Component::new("a.wasm", b"");
    for grant in ["processes", "processes=all", "files=all", "env=A", ""] {
        let (code, _, text) = component.run("check", &["--grant", grant]);
        assert_eq!(code, 2);
        assert!(
            text.contains("a grant is processes=own, files=none"),
            "{text}"
        );
    }
}
