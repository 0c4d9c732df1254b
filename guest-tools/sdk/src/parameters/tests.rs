//! Parameters without serde take the same arguments as a struct, and refuse the rest with the same words.

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    note: Option<String>,
    flag: Option<bool>,
    small: Option<u8>,
    count: u32,
    offset: Option<i64>,
    big: Option<u64>,
    ratio: Option<f64>,
    lines: Option<Vec<i16>>,
    words: Option<Vec<String>>,
}

fn with_serde(text: &str) -> Result<Arguments, ToolError> {
    crate::arguments::parse(text)
}

fn without_serde(text: &str) -> Result<Arguments, ToolError> {
    let mut text_ = Required::<String>(None);
    let mut note = Optional::<String>(None);
    let mut flag = Optional::<bool>(None);
    let mut small = Optional::<u8>(None);
    let mut count = Required::<u32>(None);
    let mut offset = Optional::<i64>(None);
    let mut big = Optional::<u64>(None);
    let mut ratio = Optional::<f64>(None);
    let mut lines = Optional::<Vec<i16>>(None);
    let mut words = Optional::<Vec<String>>(None);
    read(
        text,
        &mut [
            ("text", &mut text_),
            ("note", &mut note),
            ("flag", &mut flag),
            ("small", &mut small),
            ("count", &mut count),
            ("offset", &mut offset),
            ("big", &mut big),
            ("ratio", &mut ratio),
            ("lines", &mut lines),
            ("words", &mut words),
        ],
    )?;
    Ok(Arguments {
        text: text_.value()?,
        note: note.0,
        flag: flag.0,
        small: small.0,
        count: count.value()?,
        offset: offset.0,
        big: big.0,
        ratio: ratio.0,
        lines: lines.0,
        words: words.0,
    })
}

#[track_caller]
fn same(text: &str) -> Result<Arguments, ToolError> {
    let expected = with_serde(text);
    // The host writes whole numbers as integers before a plugin reads them.
    let written = serde_json::from_str(text).map(crate::arguments::whole_numbers);
    let written = written.map_or_else(|_| text.to_owned(), |value| value.to_string());
    assert_eq!(without_serde(&written), expected, "{text}");
    expected
}

#[test]
fn takes_what_models_write() {
    let arguments = same(
        r#"{"text": "", "note": "", "flag": "False", "small": "7", "count": 2e3, "offset": " -5 ",
            "ratio": "1.5", "lines": "[1, \"2\", 3.0]", "words": ["a", "\u00e9"]}"#,
    );
    let expected = Arguments {
        text: String::new(),
        note: Some(String::new()),
        flag: Some(false),
        small: Some(7),
        count: 2000,
        offset: Some(-5),
        big: None,
        ratio: Some(1.5),
        lines: Some(vec![1, 2, 3]),
        words: Some(vec!["a".to_owned(), "é".to_owned()]),
    };
    assert_eq!(arguments, Ok(expected));
    let nothing =
        same(r#"{"text": "a", "count": 1, "small": "", "flag": "", "words": "", "big": null}"#);
    assert!(nothing.is_ok(), "{nothing:?}");
}

#[test]
fn refuses_with_the_same_words() {
    for (text, words) in [
        ("", "missing field `text`"),
        (r#"{"count": 1, "text": null}"#, "missing field `text`"),
        (r#"{"text": "a"}"#, "missing field `count`"),
        ("5", "invalid type: integer `5`, expected an object"),
        (r#"{"text": 1.0}"#, "integer `1`, expected a string"),
        (r#"{"text": true}"#, "boolean `true`, expected a string"),
        (
            r#"{"count": ""}"#,
            "string \"\", expected an integer from 0 to",
        ),
        (
            r#"{"count": 1.5}"#,
            "number `1.5`, expected an integer from 0",
        ),
        (
            r#"{"count": "1.5"}"#,
            "number `1.5`, expected an integer from 0",
        ),
        (
            r#"{"count": "a\n"}"#,
            "string \"a\\n\", expected an integer",
        ),
        (
            r#"{"count": -1}"#,
            "invalid value: integer `-1`, expected an integer from 0",
        ),
        (r#"{"small": 256}"#, "expected an integer from 0 to 255"),
        (
            r#"{"big": -2e1}"#,
            "integer `-20`, expected an integer of 0 or more",
        ),
        (r#"{"offset": 18446744073709551615}"#, "expected an integer"),
        (r#"{"flag": 1}"#, "integer `1`, expected a boolean"),
        (
            r#"{"flag": null, "ratio": {}}"#,
            "invalid type: object, expected a number",
        ),
        (
            r#"{"lines": [1, {"a": 2}]}"#,
            "invalid argument `lines[1]`: invalid type: object",
        ),
        (
            r#"{"lines": [null]}"#,
            "invalid argument `lines[0]`: invalid type: null",
        ),
        (r#"{"lines": "1"}"#, "string \"1\", expected an array"),
        (
            r#"{"words": [1]}"#,
            "`words[0]`: invalid type: integer `1`, expected a string",
        ),
        (
            r#"{"texts": "a"}"#,
            "there is no argument `texts`; did you mean `text`?",
        ),
        (
            r#"{"deep": null}"#,
            "there is no argument `deep`. The arguments are `text`, ",
        ),
    ] {
        let error = same(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn refuses_a_name_without_characters() {
    let error = without_serde(r#"{"": 1}"#).unwrap_err().to_string();
    assert!(
        error.contains("there is no argument ``. The arguments are"),
        "{error}"
    );
}

#[test]
fn says_that_a_text_is_not_json() {
    let error = without_serde("{\"text\": \"a").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid arguments: from byte 11 on, the text is not JSON"
    );
}

#[test]
fn refuses_numbers_that_no_double_holds() {
    for text in [
        r#"{"text": "a", "count": 1, "ratio": 1e400}"#,
        r#"{"text": "a", "count": 1, "ratio": "-1e999"}"#,
    ] {
        let error = without_serde(text).unwrap_err().to_string();
        assert!(error.contains("expected a number"), "{error}");
        assert!(with_serde(text).is_err(), "{text}");
    }
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Value as Json, json};
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        (-300_i32..300).prop_map(Json::from),
        (-300_i32..300).prop_map(|number| json!(f64::from(number) / 2.0)),
        prop_oneof![
            Just("true"),
            Just(" 12 "),
            Just("-3.0"),
            Just(""),
            Just("[1,2]"),
            Just("{}"),
            Just("x y")
        ]
        .prop_map(Json::from),
        "[ -~é]{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::hash_map("[a-c]", inner, 0..3)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn agrees_with_a_struct(fields in prop::collection::vec(
        (prop_oneof![
            Just("text"), Just("note"), Just("flag"), Just("small"), Just("count"), Just("offset"), Just("big"), Just("ratio"),
            Just("lines"), Just("words"), Just("word"),
        ], value()),
        0..6,
    )) {
        // The host refuses a name that is there twice.
        let mut object = serde_json::Map::new();
        for (name, value) in fields {
            object.insert(name.to_owned(), value);
        }
        object.entry("text").or_insert_with(|| "a".into());
        object.entry("count").or_insert_with(|| 1.into());
        let _ = same(&serde_json::Value::Object(object).to_string());
    }
}
