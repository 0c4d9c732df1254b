//! The cases of `cases.json`, which are those of the specification by their names, and what is derived from its rules. The
//! host's tests put the same cases through the component.
//!
//! To write down the outcomes of today, to be looked at in the diff: `WRITE_CASES=1 cargo test -p toolhost-edit cases`.

use std::{env, fs};

use serde_json::Value;

use super::*;

#[test]
fn every_case_has_its_outcome() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/cases.json");
    let mut cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let writes = env::var_os("WRITE_CASES").is_some();
    for case in &mut cases {
        let text = |value: &str| case[value].as_str();
        let edit = Edit {
            search: case["edit"]["old_text"].as_str().unwrap(),
            replace: case["edit"]["new_text"].as_str().unwrap(),
            replace_all: case["edit"]["replace_all"].as_bool().unwrap_or(false),
        };
        let result = apply(text("content").unwrap().as_bytes(), &[edit]);
        let result = result.map(|bytes| String::from_utf8(bytes).unwrap());
        let result = result.map_err(|error| error.to_string());
        if writes {
            let case = case.as_object_mut().unwrap();
            case.shift_remove("result");
            case.shift_remove("error");
            let (name, outcome) = match result {
                Ok(result) => ("result", result),
                Err(error) => ("error", error),
            };
            case.insert(name.to_owned(), outcome.into());
            continue;
        }
        let expected = text("result").ok_or(text("error").unwrap_or_default());
        let seen = result.as_deref().map_err(String::as_str);
        assert_eq!(seen, expected, "{}", case["name"]);
    }
    if writes {
        fs::write(path, serde_json::to_string_pretty(&cases).unwrap() + "\n").unwrap();
    }
    assert!(cases.len() > 150);
}
