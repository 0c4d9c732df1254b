//! The ranking of tools, and hostile queries.

use serde_json::json;
use toolhost_call::tool::Hints;

use super::*;

fn tool(name: &str, description: &str) -> Definition {
    Definition {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema: json!({}),
        output_schema: None,
        hints: Hints::default(),
        max_duration_ms: None,
        resources: Vec::new(),
        plugin: "p".to_owned(),
    }
}

fn names(tools: Vec<Definition>) -> String {
    let names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
    names.join(" ")
}

#[test]
fn the_best_match_comes_first() {
    let found = |query: &str, max: usize| {
        let tools = vec![
            tool("edit_file", "Changes a file."),
            tool("read_file", "Returns the content of a file."),
            tool(
                "weather__now",
                "Returns the temperature, read from a station.",
            ),
        ];
        names(best(tools, query, max))
    };
    assert_eq!(found("read file", 9), "read_file edit_file weather__now");
    assert_eq!(found("READ", 1), "read_file");
    assert_eq!(found("readFile", 1), "read_file");
    assert_eq!(found("temp", 9), "weather__now");
    assert_eq!(found("nothing", 9), "");
    assert_eq!(found(" ", 2), "edit_file read_file");
    assert_eq!(found("file", 0), "");
}

#[test]
fn rare_words_and_words_of_one_stem_count() {
    let tools = || {
        vec![
            tool("list_events", "Lists the events of a calendar."),
            tool("list_issues", "Lists the issues of a project."),
            tool("list_users", "Lists the users of a project."),
        ]
    };
    for query in [
        "list the issue",
        "listing an issue of the project",
        "issued",
    ] {
        assert_eq!(names(best(tools(), query, 1)), "list_issues", "{query}");
    }
    // A short word is not the beginning of every longer one.
    assert_eq!(names(best(tools(), "is", 9)), "");
}

#[test]
fn titles_plugins_and_arguments_are_searched() {
    let titled = Definition {
        title: Some("Search the archive".to_owned()),
        ..tool("one", "")
    };
    let of_plugin = Definition {
        plugin: "github".to_owned(),
        ..tool("two", "")
    };
    let with_arguments = Definition {
        input_schema: json!({ "type": "object", "properties": { "filter": { "type": "object", "properties": {
            "assignee": { "type": "string", "description": "The colleague who works on it." },
        } } } }),
        ..tool("three", "")
    };
    let tools = || vec![titled.clone(), of_plugin.clone(), with_arguments.clone()];
    for (query, expected) in [
        ("archive", "one"),
        ("GitHub", "two"),
        ("assignee", "three"),
        ("colleagues", "three"),
        ("string", ""),
    ] {
        assert_eq!(names(best(tools(), query, 9)), expected, "{query}");
    }
}

#[test]
fn hostile_queries_and_tools_end() {
    let hostile = "ß\u{0}𝒳((a+)+)$ ".repeat(10_000);
    let many: Vec<_> = (0..2_000)
        .map(|number| tool(&format!("tool_{number}"), "Does something."))
        .collect();
    assert!(best(many.clone(), &hostile, 100).len() <= 100);
    let words: String = (0..100_000)
        .map(|number| format!("tool_{number} "))
        .collect();
    assert_eq!(best(many, &words, 100).len(), 100);
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({ "properties": { "a": deep } });
    }
    let large = Definition {
        input_schema: deep,
        ..tool("large", &"word ".repeat(100_000))
    };
    assert_eq!(names(best(vec![large], "word", 9)), "large");
    assert_eq!(names(best(Vec::new(), "word", 9)), "");
}
