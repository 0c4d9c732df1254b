//! The cases of `cases.json`, which are those of the specification by their names, and what is derived from its rules. The
//! host's tests put the same cases through the component.

use serde_json::Value;

use super::*;

#[test]
fn every_case_has_its_outcome() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../../cases.json")).unwrap();
    for case in &cases {
        let text = |value: &'static str| case[value].as_str();
        let edit = Edit {
            search: case["edit"]["old_text"].as_str().unwrap(),
            replace: case["edit"]["new_text"].as_str().unwrap(),
            replace_all: case["edit"]["replace_all"].as_bool().unwrap_or(false),
        };
        let result = apply(text("content").unwrap().as_bytes(), &[edit]);
        let result = result.map(|bytes| String::from_utf8(bytes).unwrap());
        let result = result.map_err(|error| error.to_string());
        let expected = text("result").ok_or(text("error").unwrap_or_default());
        let seen = result.as_deref().map_err(String::as_str);
        assert_eq!(seen, expected, "{}", case["name"]);
    }
    assert!(cases.len() > 150);
}
