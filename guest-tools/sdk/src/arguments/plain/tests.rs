//! Arguments as models write them, and as tools get them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::Schema;

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is of interest")]
struct Arguments {
    path: String,
    line: Option<i64>,
    ratio: Option<f64>,
    deep: Option<bool>,
    note: Option<String>,
    #[schemars(length(min = 1))]
    name: Option<String>,
    order: Option<Order>,
    edits: Option<Vec<Edit>>,
    counts: Option<BTreeMap<String, u32>>,
    target: Option<Target>,
    anything: Option<Value>,
    tree: Option<Tree>,
}

/// One change.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is of interest")]
struct Edit {
    line: u32,
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    Up,
    Down,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is of interest")]
enum Target {
    Line { at: u32 },
    Name { at: String },
}

/// A type that refers to itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is of interest")]
struct Tree {
    size: Option<u32>,
    children: Vec<Tree>,
}

fn plain_of(arguments: Value) -> Value {
    plain(arguments, Schema::of_arguments::<Arguments>().value())
}

#[test]
fn what_cannot_mean_anything_else_becomes_plain() {
    for (written, meant) in [
        (json!({ "line": 1.0 }), json!({ "line": 1 })),
        (json!({ "line": -2e3 }), json!({ "line": -2000 })),
        (json!({ "line": "30" }), json!({ "line": 30 })),
        (json!({ "line": " 3e1 " }), json!({ "line": 30 })),
        (json!({ "line": null }), json!({})),
        (json!({ "line": "" }), json!({})),
        (json!({ "ratio": "0.5" }), json!({ "ratio": 0.5 })),
        (json!({ "deep": "true" }), json!({ "deep": true })),
        (json!({ "deep": "False" }), json!({ "deep": false })),
        (json!({ "deep": "", "edits": "", "order": "" }), json!({})),
        (json!({ "name": "", "target": "" }), json!({})),
        (
            json!({ "path": null, "note": null, "tree": null }),
            json!({}),
        ),
        (
            json!({ "edits": [{ "line": "1", "all": null }, { "line": 2.0, "all": "true" }] }),
            json!({ "edits": [{ "line": 1 }, { "line": 2, "all": true }] }),
        ),
        (
            json!({ "edits": "[{\"line\": \"1\", \"all\": \"\"}]" }),
            json!({ "edits": [{ "line": 1 }] }),
        ),
        (
            json!({ "counts": "{\"a\": \"1\"}" }),
            json!({ "counts": { "a": 1 } }),
        ),
        (
            json!({ "target": { "kind": "line", "at": "7" } }),
            json!({ "target": { "kind": "line", "at": 7 } }),
        ),
        (
            json!({ "tree": { "size": "1", "children": [{ "size": "", "children": [] }] } }),
            json!({ "tree": { "size": 1, "children": [{ "children": [] }] } }),
        ),
        (
            json!({ "anything": { "a": [1.0, "1", "", null] } }),
            json!({ "anything": { "a": [1, "1", "", null] } }),
        ),
        // Other names of an argument are in no schema.
        (json!({ "file": 1.0 }), json!({ "file": 1 })),
    ] {
        assert_eq!(plain_of(written.clone()), meant, "{written}");
    }
}

#[test]
fn what_can_mean_something_stays() {
    for written in [
        json!({ "path": "", "note": "" }),
        json!({ "path": "30", "note": "true", "name": "null" }),
        json!({ "path": 5, "note": true }),
        json!({ "line": "ten", "deep": "yes", "edits": "all" }),
        json!({ "line": "{}", "edits": "3", "counts": "[]" }),
        json!({ "line": true, "deep": 1 }),
        json!({ "line": 1.5, "ratio": 1.5 }),
        json!({ "line": 9_007_199_254_740_993_u64, "ratio": 1e300 }),
        json!({ "order": "sideways" }),
        json!({ "edits": [null, ""] }),
        json!({ "counts": { "a": null } }),
        json!({ "target": { "kind": "name", "at": "7" } }),
        json!({ "anything": null }),
        json!({ "unknown": null, "other": "" }),
    ] {
        assert_eq!(plain_of(written.clone()), written);
    }
}

#[test]
fn each_spelling_of_a_number_is_one_number() {
    for (text, number) in [
        ("-0.0", "0"),
        ("1e16", "10000000000000000"),
        ("-9223372036854775808.0", "-9223372036854775808"),
        ("1e19", "10000000000000000000"),
        ("1e20", "1e+20"),
    ] {
        let value = serde_json::from_str(text).unwrap();
        assert_eq!(plain(value, &ANYTHING).to_string(), number, "{text}");
    }
}

/// Plain arguments stay as they are.
#[test]
fn plain_arguments_stay() {
    let schema = Schema::of_arguments::<Arguments>();
    let written = json!({ "line": "1.0", "edits": "[{\"line\": 1e0}]", "deep": "" });
    let once = plain(written, schema.value());
    assert_eq!(plain(once.clone(), schema.value()), once);
}
