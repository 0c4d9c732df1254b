//! The page about testing sandboxes: its commands, and what they write and print.

use serde_json::Value;

use super::blocks::blocks;
use super::page;
use super::reader::Reader;

/// Returns whether two values have the same properties, and values of the same types.
fn same_form(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| {
                    other.get(name).is_some_and(|other| same_form(value, other))
                })
        }
        (Value::Array(one), Value::Array(other)) => one
            .first()
            .zip(other.first())
            .is_some_and(|(one, other)| same_form(one, other)),
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

#[test]
fn the_page_about_testing_sandboxes() {
    let steps = blocks(&page("sandbox-testing.md"));
    let [commands, written, table, report] = steps.as_slice() else {
        panic!("{steps:?}");
    };
    let mut lines = commands.text.lines();
    let whole_set = lines.next().and_then(|line| line.split('#').next());
    // `sandbox` runs each guest of the set.
    assert_eq!(whole_set.map(str::trim), Some("toolhost plugin attack"));

    let mut reader = Reader::new();
    reader.writes("build/README", "");
    let folder = reader.folder();
    std::fs::write(
        folder.join("build/word_count.wasm"),
        toolhost_guests::WORD_COUNT,
    )
    .unwrap();
    let printed: Vec<_> = lines.map(|line| reader.types(line)).collect();
    table.assert_printed(&printed[1]);

    let expected = std::fs::read(folder.join("guests/expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let shown: Value = serde_json::from_str(&written.text).unwrap();
    assert_eq!(
        (&shown["contract"], &shown["tool"]),
        (&expected["contract"], &expected["tool"])
    );
    let guests = expected["guests"].as_array().unwrap();
    for guest in shown["guests"].as_array().unwrap() {
        assert!(guests.contains(guest), "{guest}");
    }

    let json = reader.types("toolhost --log off plugin attack --only memory_bomb --json");
    let json: Value = serde_json::from_str(&json).unwrap();
    let shown: Value = serde_json::from_str(&report.text).unwrap();
    assert!(same_form(&shown, &json["guests"][0]), "{shown}\n{json}");
}
