//! `#[tool]` as plugins use it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolhost_sdk::__private::{Entry, Exported, call_tool, list_tools, wit};
use toolhost_sdk::prelude::*;
use toolhost_sdk::testing::call;
use toolhost_sdk::{Resource, processes};

/// Counts the words
/// of a text.
///
/// Words are separated by white space.
#[tool(
    read_only,
    idempotent,
    closed_world,
    title = "Word count",
    max_duration = "1500ms",
    example("two words", r#"{"text": "a b"}"#),
    example("no text", "{}", is_error)
)]
fn word_count(
    /// The text: "any",
    /// of any length.
    text: String,
    /// At most so many words count.
    most: Option<u32>,
    call: &Call,
) -> Result<Reply, ToolError> {
    let words = text.split_whitespace().count();
    let most = most.map_or(usize::MAX, |most| most as usize);
    let reply = Reply::object([("words", words.min(most))])?;
    Ok(reply.and(Content::Text(call.id.clone())))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Greet {
    /// Whom to greet.
    name: String,
    #[serde(default)]
    greeting: Option<Greeting>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Greeting {
    Hello,
    GoodMorning,
}

/// Greets.
#[tool(non_destructive)]
fn greet(Greet { name, greeting }: Greet) -> String {
    format!("{:?} {name}", greeting.unwrap_or(Greeting::Hello))
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    /// All of them together.
    sum: u64,
}

/// Adds.
#[tool]
fn add(
    /// The numbers.
    #[schemars(length(min = 1))]
    numbers: Vec<u64>,
    /// How.
    by: Option<BTreeMap<String, String>>,
    mut r#type: Option<String>,
) -> Json<Sum> {
    let by = by.map_or(0, |by| by.len() as u64);
    let kind = r#type.take().map_or(0, |kind| kind.len() as u64);
    let sum = numbers.iter().sum::<u64>() + by + kind;
    Json(Sum { sum })
}

#[derive(Debug)]
struct Odd;

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number is odd")
    }
}

#[derive(Serialize)]
struct Half {
    half: i8,
}

/// Halves.
#[tool]
fn halve(number: i8) -> Result<Json<Half>, Odd> {
    match number % 2 {
        0 => Ok(Json(Half { half: number / 2 })),
        _ => Err(Odd),
    }
}

/// Returns a page.
#[tool(read_only, resources = &[Resource::new("docs:{page}", "page")])]
fn page(
    /// Its address.
    uri: String,
) -> Reply {
    Reply::text(uri)
}

/// Says yes.
#[tool]
fn yes() -> &'static str {
    "yes"
}

/// Reads.
#[tool]
fn gone() -> Result<String, processes::Error> {
    Err(processes::Error::Unavailable(
        "the workspace is gone".to_owned(),
    ))
}

export_tools!(word_count, greet, add, halve, page, yes, gone);

fn described<T: Exported>() -> wit::Tool {
    list_tools(&[Entry::of::<T>()]).unwrap().remove(0)
}

fn schema<T: Exported>() -> Value {
    serde_json::from_str(&described::<T>().input_schema).unwrap()
}

#[test]
fn a_function_says_what_the_tool_is() {
    let tool = described::<word_count>();
    assert_eq!(tool.name, "word_count");
    assert_eq!(tool.title.as_deref(), Some("Word count"));
    assert_eq!(
        tool.description,
        "Counts the words of a text.\n\nWords are separated by white space."
    );
    let hints = wit::Hints::READ_ONLY | wit::Hints::IDEMPOTENT | wit::Hints::CLOSED_WORLD;
    assert_eq!(tool.hints, hints);
    assert_eq!(tool.max_duration_ms, Some(1500));
    let examples = tool.examples.iter();
    let examples: Vec<_> = examples
        .map(|example| (&*example.name, &*example.arguments, example.is_error))
        .collect();
    let expected = [
        ("two words", r#"{"text": "a b"}"#, false),
        ("no text", "{}", true),
    ];
    assert_eq!(examples, expected);
    assert_eq!(described::<greet>().hints, wit::Hints::NON_DESTRUCTIVE);
    let resources = r#"[{"uri":"docs:{page}","name":"page"}]"#;
    let resources = [("resources".to_owned(), resources.to_owned())];
    assert_eq!(described::<page>().extra, resources);
    assert_eq!(described::<yes>().hints, wit::Hints::empty());
}

#[test]
fn parameters_make_a_schema() {
    let expected = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text: \"any\", of any length."},
            "most": {
                "type": "integer", "minimum": 0, "maximum": u32::MAX,
                "description": "At most so many words count.",
            },
        },
        "required": ["text"],
        "additionalProperties": false,
    });
    assert_eq!(schema::<word_count>(), expected);
    let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert_eq!(schema::<yes>(), nothing);
    let made = schema::<add>();
    assert_eq!(made["required"], json!(["numbers"]));
    assert_eq!(made["properties"]["numbers"]["minItems"], json!(1));
    assert_eq!(made["properties"]["type"], json!({"type": "string"}));
    assert_eq!(
        schema::<greet>()["properties"]["name"]["description"],
        "Whom to greet."
    );
}

/// The schema that the macro writes is the one that would be derived.
#[test]
fn types_have_the_schema_of_a_struct() {
    /// All.
    #[tool]
    fn all(
        /// A text.
        a: String,
        b: bool,
        c: f32,
        d: f64,
        e: i8,
        f: i16,
        g: i32,
        h: i64,
        i: isize,
        j: u8,
        k: u16,
        l: u32,
        m: u64,
        n: usize,
        o: Vec<Vec<u8>>,
        p: Option<Vec<String>>,
        q: Option<f64>,
    ) -> String {
        format!("{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n}{o:?}{p:?}{q:?}")
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct All {
        /// A text.
        a: String,
        b: bool,
        c: f32,
        d: f64,
        e: i8,
        f: i16,
        g: i32,
        h: i64,
        i: isize,
        j: u8,
        k: u16,
        l: u32,
        m: u64,
        n: usize,
        o: Vec<Vec<u8>>,
        p: Option<Vec<String>>,
        q: Option<f64>,
    }

    let derived = toolhost_sdk::Schema::of_arguments::<All>();
    assert_eq!(&schema::<all>(), derived.value());
    // Models read it from top to bottom, so that the order is part of it.
    assert_eq!(described::<all>().input_schema, derived.value().to_string());
}

#[test]
fn replies_may_promise_a_schema() {
    let output = described::<add>().output_schema.unwrap();
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(
        output["properties"]["sum"]["description"],
        "All of them together."
    );
    for tool in [
        described::<halve>(),
        described::<word_count>(),
        described::<yes>(),
    ] {
        assert_eq!(tool.output_schema, None, "{}", tool.name);
    }
}

#[test]
fn calls_run_the_function() {
    let words = call::<word_count>(r#"{"text": " a b c ", "most": "2"}"#).unwrap();
    let expected = [
        Content::Json(r#"{"words":2}"#.to_owned()),
        Content::Text("test".to_owned()),
    ];
    assert_eq!(words.content(), expected);
    let greeted = call::<greet>(r#"{"name": "Ada", "greeting": "good_morning"}"#);
    assert_eq!(greeted, Ok(Reply::text("GoodMorning Ada")));
    let sum = call::<add>(r#"{"numbers": "[1, 2]", "by": {"a": "b"}, "type": "ab"}"#);
    assert_eq!(sum, Reply::object([("sum", 6)]));
    assert_eq!(
        call::<halve>(r#"{"number": 4.0}"#),
        Reply::object([("half", 2)])
    );
    assert_eq!(call::<yes>(""), Ok(Reply::text("yes")));
    assert_eq!(
        word_count("a b".to_owned(), None, &Call::new("x"))
            .unwrap()
            .content()
            .len(),
        2
    );
}

#[test]
fn errors_keep_their_meaning() {
    let odd = ToolError::Failed("the number is odd".to_owned());
    assert_eq!(call::<halve>(r#"{"number": 3}"#), Err(odd));
    let gone = call::<gone>("{}").unwrap_err();
    assert!(matches!(gone, ToolError::Unavailable(_)), "{gone:?}");
    for (error, words) in [
        (
            call::<halve>("{}"),
            "invalid arguments: missing field `number`",
        ),
        (
            call::<halve>(r#"{"number": 128}"#),
            "expected an integer from -128 to 127",
        ),
        (
            call::<yes>(r#"{"no": 1}"#),
            "there is no argument `no`. This tool takes none.",
        ),
        (
            call::<greet>("{}"),
            "invalid arguments: missing field `name`",
        ),
        (
            call::<add>(r#"{"numbers": [], "kind": 1}"#),
            "there is no argument `kind`. The arguments are `numbers`, `by`, `type`.",
        ),
    ] {
        let error = error.unwrap_err();
        assert!(matches!(error, ToolError::InvalidArguments(_)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// Reads a file as a component does.
#[tool(read_only)]
fn read_with_std() -> Result<Reply, ToolError> {
    let text = "No such file or directory (os error 44)";
    Err(ToolError::Failed(text.to_owned()))
}

#[test]
fn an_error_of_std_says_how_to_reach_files() {
    let call = wit::Call {
        id: "c".to_owned(),
        tool: "read_with_std".to_owned(),
        arguments: "{}".to_owned(),
    };
    let tools = [Entry::of::<read_with_std>()];
    let wit::ToolError::Failed(text) = call_tool(&tools, call).unwrap_err() else {
        panic!("the tool fails");
    };
    assert!(
        text.ends_with(
            "(os error 44); std::fs reaches no files of the workspace: use toolhost_sdk::files"
        ),
        "{text}"
    );
}
