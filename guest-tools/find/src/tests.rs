//! Queries of models, on tools that a test describes.

use serde_json::{Value, json};
use toolhost_sdk::calls::Tool as Callable;
use toolhost_sdk::testing::FakeCalls;
use toolhost_sdk::{Tool as _, ToolError};

use super::*;

fn tool(name: &str, description: &str) -> Callable {
    Callable {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: r#"{"type":"object","properties":{"title":{"type":"string"}}}"#.to_owned(),
        output_schema: None,
        read_only: false,
    }
}

fn calls(tools: Vec<Callable>) -> FakeCalls {
    FakeCalls::new(&[], |_, _| FakeCalls::json("null")).with_tools(tools)
}

fn some() -> FakeCalls {
    calls(vec![
        tool("git_commit", "Records changes."),
        tool("issue_create", "Opens an issue."),
        tool("issue_list", "Lists issues."),
        tool("note", "Adds a note to an issue."),
    ])
}

fn found(calls: &FakeCalls, query: &str, limit: Option<i64>) -> Result<Value, ToolError> {
    let query = query.to_owned();
    let found = find(calls, &Arguments { query, limit })?;
    Ok(serde_json::to_value(found).unwrap())
}

fn names(value: &Value) -> Vec<&str> {
    let tools = value["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[test]
fn words_names_and_patterns_find_tools() {
    let some = some();
    let words = found(&some, " issue ", None).unwrap();
    assert_eq!(names(&words), ["issue_create", "issue_list"]);
    assert_eq!(
        words["tools"][0],
        json!({
            "name": "issue_create",
            "description": "Opens an issue.",
            "input_schema": { "type": "object", "properties": { "title": { "type": "string" } } },
        })
    );
    let selected = found(&some, "select:note, git_commit,note,nope", Some(1)).unwrap();
    assert_eq!(names(&selected), ["note", "git_commit"]);
    assert_eq!(selected["unknown"], json!(["nope"]));
    let pattern = found(&some, "/ISSUE/", Some(20)).unwrap();
    assert_eq!(names(&pattern), ["issue_create", "issue_list", "note"]);
    assert_eq!(
        names(&found(&some, "/^issue_.*te$/", None).unwrap()),
        ["issue_create"]
    );
}

#[test]
fn a_limit_says_that_more_match() {
    let some = some();
    for limit in [i64::MIN, 0, 1] {
        let one = found(&some, "issue", Some(limit)).unwrap();
        assert_eq!(names(&one), ["issue_create"], "{limit}");
        assert!(
            one["note"]
                .as_str()
                .unwrap()
                .starts_with("More tools match.")
        );
    }
    let all = found(&some, "issue", Some(i64::MAX)).unwrap();
    assert!(names(&all).len() == 2 && all.get("note").is_none());
    let none = found(&some, "weather", None).unwrap();
    assert!(
        none["note"]
            .as_str()
            .unwrap()
            .starts_with("No tool matches.")
    );
}

#[test]
fn hostile_queries_are_refused_with_advice() {
    let long = "a".repeat(100_000);
    let pattern = format!("/{}/", "a".repeat(2_000));
    let nested = format!("/{}a{}/", "(".repeat(400), ")".repeat(400));
    for (query, advice) in [
        ("", "has no word"),
        ("  \n", "has no word"),
        ("/", "has no word"),
        ("//", "has no word"),
        ("select:", "names no tool"),
        ("select: , ,", "names no tool"),
        ("/(/", "is not a valid regular expression"),
        ("/(a{1000}){1000}/", "is not a valid regular expression"),
        (nested.as_str(), "is not a valid regular expression"),
        (long.as_str(), "has 100000 bytes"),
        (pattern.as_str(), "has 2000 bytes"),
    ] {
        let error = found(&some(), query, None).unwrap_err();
        let ToolError::InvalidArguments(text) = &error else {
            panic!("{query}: {error:?}");
        };
        assert!(
            text.contains(advice) && text.len() < 1_000,
            "{query}: {text}"
        );
    }
}

/// A pattern that takes a backtracking engine longer than the age of the universe.
#[test]
fn no_pattern_explodes() {
    let tools = calls(vec![tool("a", &"a".repeat(16 << 10))]);
    let none = found(&tools, "/^(a+)+$b/", None).unwrap();
    assert!(names(&none).is_empty());
}

#[test]
fn a_reply_is_bounded() {
    let long = "x".repeat(30 << 10);
    let tools = (0..5).map(|number| tool(&format!("t_{number}"), &long));
    let tools = calls(tools.collect());
    let some = found(&tools, "t_", None).unwrap();
    assert_eq!(names(&some), ["t_0", "t_1"]);
    assert_eq!(some["left_out"], json!(["t_2", "t_3", "t_4"]));
    let many: Vec<_> = (0..30).map(|number| format!("t_{number}")).collect();
    let tools = calls(many.iter().map(|name| tool(name, "")).collect());
    let query = format!("select:{}", many.join(","));
    let selected = found(&tools, &query, None).unwrap();
    assert_eq!(
        (
            names(&selected).len(),
            selected["left_out"].as_array().unwrap().len()
        ),
        (20, 10)
    );
}

#[test]
fn a_schema_too_deep_for_a_reply_is_text() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..30 {
        schema = json!({ "type": "object", "properties": { "a": schema } });
    }
    let mut deep = tool("deep", "");
    deep.input_schema = schema.to_string();
    let deep = found(&calls(vec![deep]), "deep", None).unwrap();
    assert_eq!(deep["tools"][0]["input_schema"], schema.to_string());
}

#[test]
fn the_host_is_told_which_tools_were_found() {
    let arguments = |query: &str| Arguments {
        query: query.to_owned(),
        limit: None,
    };
    let found = find(&some(), &arguments("issue")).unwrap();
    let told = reply(&found).unwrap();
    let expected = Reply::json(&found)
        .unwrap()
        .with_extra("found", r#"["issue_create","issue_list"]"#);
    assert_eq!(told, expected);
    let none = find(&some(), &arguments("weather")).unwrap();
    assert_eq!(reply(&none).unwrap(), Reply::json(&none).unwrap());
}

#[test]
fn the_strict_mode_of_openai_sends_null() {
    let arguments = serde_json::from_value::<Arguments>(json!({ "query": "a", "limit": null }));
    assert_eq!(arguments.unwrap().limit, None);
    assert_eq!(FindTools::NAME, "find_tools");
}
