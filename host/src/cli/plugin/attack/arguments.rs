//! Hostile arguments for a tool, made from its schema.

use serde_json::{Map, Value, json};
use toolhost_plugin::shown_up_to;

/// The most properties that are filled together, and that are changed one by one.
const MOST_TOGETHER: usize = 64;
const MOST_SINGLY: usize = 8;

/// The bytes of all long texts together: a call takes 1 MiB of arguments.
const LONG: usize = 900 << 10;

/// Levels of nesting: a call takes 64.
const DEEP: usize = 60;

/// The elements of all long lists together.
const MANY: usize = 10_000;

/// Returns arguments, each with what is hostile about it: every property has one value, which its type hardly expects. With valid
/// arguments, such as those of an example, each property of the schema is also changed alone, so that the others do not stop the call.
pub(super) fn hostile(schema: &Value, valid: Option<&Map<String, Value>>) -> Vec<(String, String)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names: Vec<&String> = properties.into_iter().flat_map(Map::keys).collect();
    let together = names.len().min(MOST_TOGETHER);
    let mut all = vec![
        ("no arguments".to_owned(), "{}".to_owned()),
        (
            "an unknown argument".to_owned(),
            json!({ "\u{202e}unknown": [1] }).to_string(),
        ),
    ];
    // Without a property, all others would be the same.
    for (what, value) in values(together.max(1)).into_iter().filter(|_| together > 0) {
        let filled = names.iter().take(MOST_TOGETHER);
        let filled = filled.map(|name| ((*name).clone(), value.clone()));
        all.push((
            format!("{what} everywhere"),
            Value::Object(filled.collect()).to_string(),
        ));
    }
    for name in names.iter().take(MOST_SINGLY) {
        for (what, value) in values(1) {
            let Some(mut changed) = valid.cloned() else {
                break;
            };
            changed.insert((*name).clone(), value);
            all.push((
                format!("{} is {what}", shown_up_to(name, 40)),
                Value::Object(changed).to_string(),
            ));
        }
    }
    all
}

/// Returns the values for so many properties at once.
fn values(properties: usize) -> [(&'static str, Value); 13] {
    [
        ("null", Value::Null),
        ("an empty text", json!("")),
        ("a long text", json!("a".repeat(LONG / properties))),
        ("control characters", json!("\0\u{1b}[2J\u{202e}\u{ffff}")),
        (
            "a path that leads out",
            json!("../../../../../../etc/passwd"),
        ),
        ("shell syntax", json!("'; $(id) `id` | id & #")),
        ("a slow pattern", json!("(a+)+$")),
        ("a huge number", json!(1e308)),
        ("the least integer", json!(i64::MIN)),
        ("true", json!(true)),
        ("an empty list", json!([])),
        ("a long list", json!(vec![0; MANY / properties])),
        (
            "a deep list",
            (0..DEEP).fold(json!("x"), |inner, _| json!([inner])),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use toolhost_call::call::Arguments;

    use super::*;

    #[test]
    fn every_one_reaches_the_guest() {
        let properties: Map<_, _> = (0..100)
            .map(|number| (format!("p{number}"), json!({ "type": "string" })))
            .collect();
        for schema in [
            json!({ "type": "object", "properties": properties }),
            json!({ "type": "object", "properties": { "one": {} } }),
            json!({ "type": "object" }),
        ] {
            let valid = Map::from_iter([("p0".to_owned(), json!("valid"))]);
            for (what, arguments) in hostile(&schema, Some(&valid)) {
                assert!(Arguments::parse(&arguments).is_ok(), "{what}");
            }
        }
        assert_eq!(hostile(&json!({}), None).len(), 2);
    }

    #[test]
    fn one_property_is_changed_and_the_others_stay_valid() {
        let schema = json!({ "properties": { "a": {}, "b": {} } });
        let valid = Map::from_iter([("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))]);
        let all = hostile(&schema, Some(&valid));
        assert_eq!(all.len(), 2 + 13 + 2 * 13);
        let changed = ("b is true".to_owned(), r#"{"a":1,"b":true}"#.to_owned());
        assert!(all.contains(&changed), "{all:?}");
    }
}
