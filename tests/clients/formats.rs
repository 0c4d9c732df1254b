//! The formats of lists of tools, checked with the types of the SDKs that take them.

use std::path::Path;

use serde_json::json;
use toolhost_call::tool::{Definition, Hints};
use toolhost_core::Format;
use toolhost_needs::needs;

use super::*;

#[needs(client = "formats")]
#[tokio::test]
async fn every_format_is_what_its_sdk_takes() {
    let installed = prepared("formats");
    let workspace = tempfile::tempdir().unwrap();
    let serving = serving(workspace.path(), &[]);
    let client = crate::harness::client();
    for (format, strict) in [
        ("openai", false),
        ("openai", true),
        ("openai-responses", false),
        ("openai-responses", true),
        ("anthropic", false),
        ("gemini", false),
        ("bedrock", false),
    ] {
        let url = format!("{}/v1/tools?format={format}&strict={strict}", serving.url);
        let tools = client.get(&url).bearer_auth(TOKEN).send().await.unwrap();
        let tools = tools.error_for_status().unwrap().text().await.unwrap();
        assert_eq!(tools.contains("\"strict\":true"), strict, "{tools}");
        let names = checked(&installed, workspace.path(), format, &tools).await;
        let is_openai = format.starts_with("openai");
        assert_eq!(
            names.len(),
            11 + usize::from(is_openai),
            "{format}: {names:?}"
        );
        assert_eq!(names.contains(&"apply_patch".to_owned()), is_openai);
    }
}

/// Schemas that providers and SDKs have refused, each with all other tools of its list.
#[needs(client = "formats")]
#[tokio::test]
async fn no_schema_makes_an_sdk_refuse_a_list() {
    let installed = prepared("formats");
    let workspace = tempfile::tempdir().unwrap();
    let schemas = [
        json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }], "properties": { "a": true, "b": {} } }),
        json!({ "type": "object", "oneOf": [{ "$ref": "#/$defs/x" }], "$defs": { "x": { "type": "object", "properties": { "c": false } } } }),
        json!({ "type": "object", "properties": { "$filter": { "type": "string" } } }),
        json!({ "type": "object", "properties": { "pair": { "type": "array", "prefixItems": [true, { "type": "array" }] } } }),
        json!({ "type": "object", "properties": { "tree": { "$ref": "#/$defs/t" } }, "required": ["tree"], "$defs": {
            "t": { "type": "object", "properties": { "next": { "$ref": "#/$defs/t" } }, "required": ["next"] }
        } }),
    ];
    let outputs = [
        json!({ "anyOf": [{ "type": "object" }, { "type": "object", "properties": { "a": true } }] }),
        json!({ "type": "array" }),
    ];
    let tools: Vec<_> = schemas
        .into_iter()
        .enumerate()
        .map(|(index, input_schema)| Definition {
            name: format!("t{index}"),
            title: None,
            description: "A tool.".into(),
            input_schema,
            output_schema: outputs.get(index).cloned(),
            hints: Hints::default(),
            max_duration_ms: None,
            resources: Vec::new(),
            plugin: "odd".into(),
        })
        .collect();
    for (format, left_out) in [
        ("openai", None),
        ("openai-responses", None),
        ("anthropic", Some("t2")),
        ("gemini", Some("t4")),
        ("bedrock", Some("t2")),
        ("mcp", None),
    ] {
        let list = format.parse::<Format>().unwrap();
        for rendered in [list.render(&tools), list.render_strict(&tools)] {
            let names = checked(&installed, workspace.path(), format, &rendered.to_string()).await;
            let all = tools.iter().map(|tool| tool.name.as_str());
            let expected: Vec<_> = all.filter(|name| Some(*name) != left_out).collect();
            assert_eq!(names, expected, "{format}");
        }
    }
}

/// Has the SDK of a format read a list, and returns the names of its tools.
async fn checked(installed: &Path, directory: &Path, format: &str, tools: &str) -> Vec<String> {
    let file = directory.join("tools.json");
    std::fs::write(&file, tools).unwrap();
    let mut check = clean(installed.join("bin/python"));
    check.arg(root().join("tests/clients/formats/check.py"));
    check.arg(format).arg(file);
    serde_json::from_str(printed(&run(check).await)).unwrap()
}
