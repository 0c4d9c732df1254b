//! Cases that pass, and those that fail for each reason.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use toolhost_sdk::prelude::*;
use toolhost_sdk::settings;
use toolhost_sdk::testing::cases;
use toolhost_sdk::tools;

/// Counts the words of a text.
#[tool]
fn word_count(text: String, fail: Option<String>) -> Result<Reply, ToolError> {
    let words = text.split_whitespace().count();
    match fail.as_deref() {
        None => Reply::object([("words", words)]),
        Some("text") => Ok(Reply::text("a").and(Content::Text(format!("b{words}")))),
        Some("error") => Ok(Reply::error("no")),
        Some("setting") => Ok(Reply::text(settings::get("k").unwrap_or_default())),
        Some("panic") => panic!("at the disco"),
        Some(other) => Err(ToolError::Denied(format!("not {other}, never"))),
    }
}

/// Sends a file with a secret.
#[tool]
fn send(method: String) -> Result<Reply, ToolError> {
    use toolhost_sdk::files::Files as _;
    use toolhost_sdk::http::{self, Http as _, Request};
    let data = toolhost_sdk::files::Host.read("src/a.txt", 0, 100)?.data;
    let mut request = Request::new(method, "https://a.example")
        .header("key", settings::secret("key").map_err(ToolError::Denied)?);
    request.body.clone_from(&data);
    let response = http::Host.send(&request)?;
    let (data, text) = (String::from_utf8_lossy(&data), response.text());
    Ok(Reply::text(format!("{data} {} {text}", response.status)))
}

/// Runs cases, and returns the text of the panic.
fn run(cases_: &str) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cases.json");
    fs::write(&path, cases_).unwrap();
    catch_unwind(AssertUnwindSafe(|| cases(&path, tools![word_count, send]))).map_err(|payload| {
        payload
            .downcast_ref::<String>()
            .unwrap()
            .replace(path.to_str().unwrap(), "cases.json")
    })
}

#[track_caller]
fn fails(case: &str, words: &str) {
    let failure = run(&format!(
        r#"{{"cases": [{{"name": "one", "tool": "word_count", {case}}}]}}"#
    ))
    .unwrap_err();
    assert!(failure.contains(words), "{failure}");
    assert!(
        failure.starts_with("cases.json: 1 of 1 cases failed\n\none\n    "),
        "{failure}"
    );
}

#[test]
fn cases_pass() {
    let passed = run(r#"{"cases": [
        {"name": "two", "tool": "word_count", "arguments": {"text": "a b"}, "reply": {"words": 2.0}},
        {"name": "text", "tool": "word_count", "arguments": {"text": "a", "fail": "text"}, "text": "ab1"},
        {"name": "failure", "tool": "word_count", "arguments": {"text": "a", "fail": "error"}, "text": "no", "is_error": true},
        {"name": "set", "tool": "word_count", "arguments": {"text": "a", "fail": "setting"}, "settings": {"k": "v"}, "text": "v"},
        {"name": "set to a number", "tool": "word_count", "arguments": {"text": "a", "fail": "setting"}, "settings": {"k": 5}, "text": "5"},
        {"name": "not set", "tool": "word_count", "arguments": {"text": "a", "fail": "setting"}, "text": ""},
        {"name": "denied", "tool": "word_count", "arguments": {"text": "a", "fail": "x"}, "error": {"kind": "denied", "message": "not x"}},
        {"name": "missing", "tool": "word_count", "error": {"kind": "invalid-arguments", "message": "`text`"}},
        {"name": "unknown", "tool": "words", "error": {"kind": "unknown-tool"}}
    ]}"#);
    assert_eq!(passed, Ok(()));
}

#[test]
fn a_case_gives_files_secrets_and_answers() {
    let case = |method: &str| {
        format!(
            r#"{{"cases": [{{
                "name": "one", "tool": "send", "arguments": {{"method": "{method}"}},
                "files": {{"src/a.txt": "file"}}, "secrets": {{"key": "k"}},
                "http": [{{"request": {{"url": "https://a.example/"}}, "answer": {{"status": 404, "json": {{"a": 1}}}}}}],
                "text": "file 404 {{\"a\":1}}"
            }}]}}"#
        )
    };
    assert_eq!(run(&case("GET")), Ok(()));
    let unanswered = run(&case("PUT")).unwrap_err();
    let text = "no answer for PUT https://a.example; there is one for GET";
    assert!(unanswered.contains(text), "{unanswered}");
}

#[test]
fn a_case_that_fails_shows_the_difference() {
    fails(
        r#""arguments": {"text": "a"}, "reply": {"words": 2, "lines": 1}"#,
        "      {\n    -   \"words\": 2,\n    -   \"lines\": 1\n    +   \"words\": 1\n      }",
    );
    fails(
        r#""arguments": {"text": "a", "fail": "text"}, "text": "ab2""#,
        "- ab2\n    + ab1",
    );
    fails(
        r#""arguments": {"text": "a", "fail": "text"}, "reply": {}"#,
        "+ a reply without a JSON part\n    + ab1",
    );
    fails(
        r#""arguments": {"text": "a", "fail": "error"}, "text": "no""#,
        "+ a failure is reported\n      no",
    );
    fails(
        r#""arguments": {"text": "a", "fail": "x"}, "error": {"kind": "failed", "message": "not x"}"#,
        "- error failed: … not x …\n    + error denied: not x, never",
    );
    fails(
        r#""error": {"kind": "invalid-arguments", "message": "`path`"}"#,
        "missing field `text`",
    );
    fails(
        r#""arguments": {"text": "a"}, "error": {"kind": "failed"}"#,
        "- error failed",
    );
    fails(
        r#""arguments": {"text": "a", "fail": "panic"}, "text": """#,
        "the tool panicked: at the disco",
    );
    fails(r#""text": """#, "+ error invalid-arguments: ");
}

#[test]
fn a_case_with_a_mistake_fails() {
    fails(
        r#""arguments": {"text": "a"}"#,
        "a case has one of `reply`, `text` and `error`",
    );
    fails(
        r#""text": "", "reply": null"#,
        "a case has one of `reply`, `text` and `error`",
    );
    fails(
        r#""is_error": true, "error": {"kind": "failed"}"#,
        "`is_error` stands beside",
    );
    fails(
        r#""settings": {"k": []}, "text": """#,
        "the setting `k` is no text",
    );
    fails(r#""replies": 1"#, "unknown field `replies`");
    let unknown = run(r#"{"cases": [{"name": "a", "tool": "b", "text": ""}]}"#).unwrap_err();
    assert!(
        unknown.contains("there is no tool \"b\"; the tools are word_count, send"),
        "{unknown}"
    );
    let unnamed = run(r#"{"cases": [{"tool": "b", "text": ""}]}"#).unwrap_err();
    assert!(
        unnamed.contains("case 1\n    missing field `name`"),
        "{unnamed}"
    );
}

#[test]
fn a_file_with_a_mistake_fails() {
    assert_eq!(
        run(r#"{"cases": []}"#),
        Err("cases.json: there is no case".to_owned())
    );
    assert!(
        run("[")
            .unwrap_err()
            .starts_with("cases.json: EOF while parsing")
    );
    let twice =
        r#"{"name": "a", "tool": "word_count", "arguments": {"text": ""}, "reply": {"words": 0}}"#;
    let twice = run(&format!(r#"{{"cases": [{twice}, {twice}]}}"#)).unwrap_err();
    assert!(
        twice.contains("1 of 2 cases failed\n\na\n    two cases have this name"),
        "{twice}"
    );
}
