//! Schemas that are sound, and each way in which one is not.

use serde_json::json;

use super::*;
use crate::cpu_limit::STACK;

/// Works on a schema as loading does: on a thread with much stack.
fn parse(text: &str) -> Result<Schema, InvalidSchema> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || Schema::parse(text));
        thread.unwrap().join().unwrap()
    })
}

fn error(schema: &Value) -> String {
    parse(&schema.to_string()).unwrap_err().to_string()
}

#[test]
fn what_generators_write_is_sound() {
    for schema in [
        json!({"type": "object"}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/a", "type": "object"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/a"}}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema#", "dependentRequired": {"a": ["b"]}}),
        json!({"$defs": {"a b": {"$anchor": "here"}, "x/y": {}}, "allOf": [{"$ref": "#here"}, {"$ref": "#/$defs/a%20b"}, {"$ref": "#/$defs/x~1y"}]}),
        json!({"properties": {"$schema": {"type": "string"}, "$ref": {"type": "string"}, "pattern": {}, "$id": {"const": "x"}}}),
        json!({"enum": ["\n", {"$ref": "https://example.com"}], "pattern": "^(?!\u{1})\u{202e}"}),
        json!({"description": "two\nlines", "default": {"$schema": 1}}),
    ] {
        parse(&schema.to_string()).unwrap_or_else(|error| panic!("{schema} {error}"));
    }
}

#[test]
fn each_way_not_to_be_sound_says_what_to_do() {
    let text = |text: &str| parse(text).unwrap_err().to_string();
    insta::assert_snapshot!(text("{"), @"is not valid JSON: EOF while parsing an object at line 1 column 1");
    insta::assert_snapshot!(text("true"), @"is not a JSON object");
    insta::assert_snapshot!(text(&format!("{{\"title\":\"{}\"}}", "x".repeat(MAX_SIZE))), @"has 65548 bytes, the most is 65536: shorten it");
    insta::assert_snapshot!(error(&json!({"type": "objekt"})), @r#"is not a valid JSON Schema: "objekt" is not valid under any of the schemas listed in the 'anyOf' keyword, at /type"#);
    insta::assert_snapshot!(error(&json!({"properties": {"a": {"minLength": -1}}})), @"is not a valid JSON Schema: -1 is less than the minimum of 0, at /properties/a/minLength");
    insta::assert_snapshot!(error(&json!({"$schema": "http://json-schema.org/draft-04/schema#"})), @r#"has the $schema "http://json-schema.org/draft-04/schema#": use "https://json-schema.org/draft/2020-12/schema", or leave it out; 2019-09 and draft-07 are understood as well"#);
    insta::assert_snapshot!(error(&json!({"properties": {"a": {"$id": "https://example.com/a"}}})), @"has $id at /properties/a/$id: only the whole schema may have one; put what it holds into $defs");
    insta::assert_snapshot!(error(&json!({"items": {"$schema": "http://json-schema.org/draft-07/schema#"}})), @"has $schema at /items/$schema: only the whole schema may have one; put what it holds into $defs");
    insta::assert_snapshot!(error(&json!({"properties": {"a": {"$ref": "https://example.com/a"}}})), @r##"refers to https://example.com/a at /properties/a/$ref: nothing is fetched, so put that into $defs and refer to "#/$defs/…""##);
    insta::assert_snapshot!(error(&json!({"$ref": "other.json#/a"})), @r##"refers to other.json#/a at /$ref: nothing is fetched, so put that into $defs and refer to "#/$defs/…""##);
    insta::assert_snapshot!(error(&json!({"$dynamicRef": "https://example.com/a#b"})), @r##"refers to https://example.com/a#b at /$dynamicRef: nothing is fetched, so put that into $defs and refer to "#/$defs/…""##);
    insta::assert_snapshot!(error(&json!({"items": {"$ref": "#/$defs/none"}})), @"refers to #/$defs/none at /items/$ref, which it does not have");
    insta::assert_snapshot!(error(&json!({"items": {"$ref": "#nowhere"}})), @"refers to #nowhere at /items/$ref, which it does not have");
    insta::assert_snapshot!(error(&json!({"pattern": "("})), @r#"is not a valid JSON Schema: "(" is not a "regex", at /pattern"#);
    insta::assert_snapshot!(error(&json!({"description": "a\u{202e}b"})), @r#"has the character \u{202e} at /description, which a model reads and a person does not see: remove it"#);
    insta::assert_snapshot!(error(&json!({"properties": {"a\u{1b}": {}}})), @r#"has the character \u{1b} at /properties, which a model reads and a person does not see: remove it"#);
    insta::assert_snapshot!(error(&json!({"enum": ["a\u{e0041}"]})), @r#"has the character \u{e0041} at /enum, which a model reads and a person does not see: remove it"#);
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let nested = |levels: usize| "{\"not\":".repeat(levels) + "{}" + &"}".repeat(levels);
    parse(&nested(MAX_DEPTH)).unwrap();
    for levels in [MAX_DEPTH + 1, 127, 128, 5000] {
        assert_eq!(parse(&nested(levels)).unwrap_err(), InvalidSchema::TooDeep);
    }
    // Each definition refers to the next one twice.
    let doubling = |count: usize| {
        let next = |index: usize| json!({"$ref": format!("#/$defs/{}", index + 1)});
        let mut defs: serde_json::Map<_, _> = (0..count)
            .map(|index| {
                (
                    index.to_string(),
                    json!({"allOf": [next(index), next(index)]}),
                )
            })
            .collect();
        defs.insert(count.to_string(), json!({}));
        json!({"$defs": defs, "$ref": "#/$defs/0"})
    };
    parse(&doubling(8).to_string()).unwrap();
    assert_eq!(
        parse(&doubling(40).to_string()).unwrap_err(),
        InvalidSchema::Explodes
    );
    let chain = |count: usize| {
        let defs: serde_json::Map<_, _> = (0..count)
            .map(|index| {
                (
                    index.to_string(),
                    json!({"$ref": format!("#/$defs/{}", index + 1)}),
                )
            })
            .chain([(count.to_string(), json!({}))])
            .collect();
        json!({"$defs": defs, "$ref": "#/$defs/0"})
    };
    parse(&chain(100).to_string()).unwrap();
    assert_eq!(
        parse(&chain(1000).to_string()).unwrap_err(),
        InvalidSchema::Chain
    );
    let patterns: Vec<_> = (0..=MAX_PATTERNS)
        .map(|index| json!({"pattern": format!("{index}")}))
        .collect();
    assert_eq!(
        parse(&json!({"anyOf": patterns}).to_string()).unwrap_err(),
        InvalidSchema::Patterns
    );
    let long = json!({"patternProperties": {"x".repeat(MAX_PATTERN + 1): {}}});
    assert_eq!(
        parse(&long.to_string()).unwrap_err(),
        InvalidSchema::Patterns
    );
}

/// A name is a name, also if it is spelled like a keyword whose value is data.
#[test]
fn nothing_hides_under_a_name() {
    let doubled = |index: usize| json!({"$ref": format!("#/$defs/{}", index + 1)});
    let mut defs: serde_json::Map<_, _> = (0..40)
        .map(|index| {
            let next = json!({"allOf": [doubled(index), doubled(index)]});
            (index.to_string(), next)
        })
        .collect();
    defs.insert("40".into(), json!({}));
    for map in ["properties", "patternProperties", "dependentSchemas"] {
        for name in ["default", "const", "enum", "example", "examples"] {
            let under = |inner: Value| json!({ map: { name: inner } });
            let refused = |schema: Value| parse(&schema.to_string()).unwrap_err();
            let mut bomb = under(json!({"$ref": "#/$defs/0"}));
            bomb["$defs"] = defs.clone().into();
            assert_eq!(refused(bomb), InvalidSchema::Explodes, "{map} {name}");
            let remote = refused(under(json!({"$ref": "https://example.com"})));
            assert!(matches!(remote, InvalidSchema::Remote { .. }), "{remote}");
            let missing = refused(under(json!({"$ref": "#/$defs/none"})));
            assert!(
                matches!(missing, InvalidSchema::Missing { .. }),
                "{missing}"
            );
            let itself = under(json!({"$ref": "#"}));
            assert!(parse(&itself.to_string()).unwrap().is_recursive());
        }
    }
    let defs =
        json!({"$defs": {"default": {"$ref": "#/$defs/const"}, "const": {"$ref": "#/$defs/none"}}});
    assert!(matches!(
        parse(&defs.to_string()).unwrap_err(),
        InvalidSchema::Missing { .. }
    ));
}

/// Patterns that are short and would take much memory or time.
#[test]
fn patterns_cannot_run_for_ever() {
    for bomb in [
        r"(((\w{1000}){1000}){1000}){1000}",
        r"((?=\w){1000}\w{1000}){1000}",
    ] {
        _ = parse(&json!({"pattern": bomb}).to_string());
    }
    let schema = parse(&json!({"pattern": r"^(?=(a+)+$)(a|aa)+b\1$"}).to_string()).unwrap();
    schema.validate(&json!("a".repeat(5000))).unwrap_err();
    let linear = parse(&json!({"pattern": "^(a+)+$"}).to_string()).unwrap();
    linear.validate(&json!("a".repeat(5000) + "b")).unwrap_err();
}

#[test]
fn giant_lists_of_values_are_fine_as_long_as_they_are_short_enough() {
    let values: Vec<_> = (0..8000).collect();
    let schema = parse(&json!({"enum": values}).to_string()).unwrap();
    schema.validate(&json!(7999)).unwrap();
    schema.validate(&json!(8000)).unwrap_err();
}

#[test]
fn a_schema_that_refers_to_itself_is_known() {
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    let tree = parse(&tree.to_string()).unwrap();
    assert!(tree.is_recursive());
    tree.validate(&json!({"next": {"next": {}}})).unwrap();
    insta::assert_snapshot!(tree.validate(&json!({"next": {"next": 1}})).unwrap_err(), @r#"1 is not of type "object", at /next/next"#);
    insta::assert_snapshot!(tree.validate(&json!(1)).unwrap_err(), @r#"1 is not of type "object""#);
    assert!(!parse("{}").unwrap().is_recursive());
}
