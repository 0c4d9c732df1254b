//! Mistakes that authors of plugins make, and what `toolhost plugin check` says of each: the cause, in words that name the place or
//! the next step.

use std::fmt::Write as _;
use std::path::Path;
use std::thread;

use super::inspect::Component;
use super::made::{self, Reply, Says, Tool};
use crate::guest::{component, component_for, guest};

/// A guest that writes this to standard error and then gives up, when it is asked for its tools.
fn gives_up(words: &str) -> Vec<u8> {
    let escaped: String = words.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let length = words.len();
    let text = format!(
        r#"(module
        (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
        (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
          (func $write (param i32 i32 i32 i32)))
        (memory (export "memory") 1)
        (data (i32.const 8192) "{escaped}")
        (func $give_up (result i32)
          (call $write (call $stderr) (i32.const 8192) (i32.const {length}) (i32.const 2048))
          unreachable)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
        (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32) (call $give_up))
        (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#
    );
    component("gives_up", text)
}

/// A guest that asks for a setting, and fails with a text that names it.
fn forgets_a_setting() -> Vec<u8> {
    let text = r#"(module
        (import "toolhost:plugin/settings@0.1.0" "get" (func $get (param i32 i32 i32)))
        (memory (export "memory") 1)
        (data (i32.const 1024) "city")
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 4096)
        (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32)
          (call $get (i32.const 1024) (i32.const 4) (i32.const 2048))
          (if (i32.eqz (i32.load8_u (i32.const 2048))) (then unreachable))
          i32.const 0)
        (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#;
    component("forgets_a_setting", text.into())
}

/// A guest that imports a socket and a directory, as programs for other hosts do.
fn imports_wasi() -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/outgoing");
    let read = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap();
    component_for(
        "sockets",
        read("sockets.wat"),
        &read("visitor.wit"),
        "visitor",
    )
}

fn tool(reply: &Reply, change: impl FnOnce(&mut Tool)) -> Vec<u8> {
    let mut tool = Tool {
        examples: vec![("one".into(), r#"{"text":"a"}"#.into(), false)],
        ..Tool::default()
    };
    change(&mut tool);
    made::plugin(&Says::Tools(vec![tool]), reply)
}

const PANIC: &str = "\nthread '<unnamed>' panicked at src/lib.rs:30:29:\ntext too long\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";

const TRACEBACK: &str = "Traceback (most recent call last):\n  File \"/0/app.py\", line 12, in list_tools\nKeyError: 'name'\n";

const EXCEPTION: &str = "thread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:\nFailed to call 'listTools': Value(Exception(\nException { message: Some(\"x is not defined\"), stack: Some(\"    at listTools (/plugin.js:7:9)\\n\") })\n)\n";

const WRONG_EXPORT: &str = "TypeError: interface 'toolhost:plugin/tools@0.1.0' not found\n    at initialize (plugin.js:1:1)\n";

/// Each mistake, and the component of an author who made it.
fn mistakes() -> Vec<(&'static str, Vec<u8>)> {
    let no_exports = wat::parse_str("(component)").unwrap();
    let nothing = |_: &mut Tool| {};
    vec![
        ("a panic in Rust", gives_up(PANIC)),
        ("an exception in Python", gives_up(TRACEBACK)),
        ("an exception in JavaScript", gives_up(EXCEPTION)),
        ("tools exported under another name", gives_up(WRONG_EXPORT)),
        ("a trap without a word", tool(&Reply::Trap, nothing)),
        ("an endless loop", guest("loop_in_list_tools")),
        ("endless recursion", guest("deep_recursion_in_list_tools")),
        ("too much memory", guest("giant_memory")),
        ("a forgotten setting", forgets_a_setting()),
        ("a forgotten export_tools!", no_exports),
        ("a core module", guest("core_module")),
        ("a program", made::names(&[], &["wasi:cli/run@0.2.0"])),
        ("another version of the contract", guest("other_version")),
        ("functions of other types", guest("wrong_type")),
        ("an interface of another host", guest("unknown_import")),
        ("sockets and files of WASI", imports_wasi()),
        (
            "a schema that is none",
            tool(&Reply::Empty, |tool| {
                tool.input = r#"{"type":"objekt"}"#.into()
            }),
        ),
        (
            "a name that models refuse",
            tool(&Reply::Empty, |tool| tool.name = "Word-Count".into()),
        ),
        (
            "an example that does not fit",
            tool(&Reply::Empty, |tool| {
                tool.input = r#"{"type":"object","properties":{"text":{"type":"number"}}}"#.into();
            }),
        ),
        (
            "a reply that is no JSON",
            tool(&Reply::Json("{1}"), nothing),
        ),
    ]
}

#[test]
fn each_has_a_message_that_names_its_cause() {
    let run = |component: &[u8]| {
        let component = Component::new("mine.wasm", component);
        component.run("check", &["--log", "off"])
    };
    let said: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = mistakes()
            .into_iter()
            .map(|(mistake, component)| (mistake, scope.spawn(move || run(&component))))
            .collect();
        let joined = runs.into_iter();
        joined
            .map(|(mistake, run)| (mistake, run.join().unwrap()))
            .collect()
    });
    let mut table = String::new();
    for (mistake, (code, text, errors)) in said {
        let noted = mistake == "sockets and files of WASI";
        assert_eq!(
            (code, errors.as_str()),
            (i32::from(!noted), ""),
            "{mistake}: {text}"
        );
        let told = text
            .lines()
            .filter(|line| !line.starts_with("ok ") && !line.starts_with("mine: "));
        let told: Vec<_> = told.map(str::trim_end).collect();
        _ = write!(table, "# {mistake}\n{}\n\n", told.join("\n"));
    }
    insta::assert_snapshot!(table);
}
