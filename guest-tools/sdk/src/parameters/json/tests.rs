//! The small reader agrees with serde_json.

use serde_json::Value as Expected;

use super::*;

fn same(value: &Value, expected: &Expected) -> bool {
    match (value, expected) {
        (Value::Null, Expected::Null) => true,
        (Value::Bool(one), Expected::Bool(other)) => one == other,
        (Value::Number(one), Expected::Number(other)) => one.parse::<f64>().ok() == other.as_f64(),
        (Value::Text(one), Expected::String(other)) => one == other,
        (Value::Array(one), Expected::Array(other)) => {
            let mut parts = Parts::of(one);
            other
                .iter()
                .all(|other| parts.element().is_some_and(|one| same(&one, other)))
                && parts.element().is_none()
        }
        (Value::Object(one), Expected::Object(other)) => {
            // serde_json keeps the last property of a name.
            let mut parts = Parts::of(one);
            let properties: Vec<_> = std::iter::from_fn(|| parts.property()).collect();
            properties.iter().all(|(name, _)| other.contains_key(name))
                && other.iter().all(|(name, other)| {
                    let last = properties.iter().rfind(|(one, _)| one == name);
                    last.is_some_and(|(_, one)| same(one, other))
                })
        }
        _ => false,
    }
}

#[track_caller]
fn check(text: &str) {
    match (parse(text), serde_json::from_str::<Expected>(text)) {
        (Ok(value), Ok(expected)) => assert!(same(&value, &expected), "{text}: {value:?}"),
        (Err(_), Err(_)) => {}
        (read, expected) => panic!("{text}: {read:?}, and serde_json: {expected:?}"),
    }
}

#[test]
fn reads_what_serde_json_reads_and_refuses_the_rest() {
    for text in [
        "",
        " ",
        "null",
        "nul",
        " true\n",
        "falsehood",
        "0",
        "-0",
        "01",
        "-",
        "1.",
        ".5",
        "1.5e+10",
        "1e",
        "1e400x",
        "+1",
        "\"\"",
        "\"a\\\"b\\\\c\\/\\b\\f\\n\\r\\t\"",
        "\"\\x\"",
        "\"\\u00e9\\u20ac\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\ud83d\\u0041\"",
        "\"\\ude00\"",
        "\"\\u12g4\"",
        "\"\\u12",
        "\"a\nb\"",
        "\"é€😀\"",
        "\"open",
        "[]",
        "[ 1 , \"a\" , [ ] , { } ]",
        "[1,]",
        "[1 2]",
        "[",
        "{}",
        "{ \"a\" : 1 , \"b\" : { \"c\" : null } }",
        "{\"a\"}",
        "{\"a\":1,}",
        "{a:1}",
        "{} {}",
        "{",
    ] {
        check(text);
    }
}

#[test]
fn nests_as_deep_as_serde_json() {
    for depth in [127, 128, 129, 100_000] {
        check(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        check(&format!("{}1{}", "[".repeat(depth), "]".repeat(depth)));
    }
}

#[test]
fn says_where_the_text_is_not_json() {
    assert_eq!(parse(r#"{"a": 1, b}"#), Err(9));
    assert_eq!(parse("{} x"), Err(3));
}

proptest::proptest! {
    #[test]
    fn agrees_with_serde_json_on_texts_that_look_like_json(text in r#"[\[\]{}:,"\\u0-9a-f.eE+\- nulltrue]{0,24}"#) {
        check(&text);
    }
}
