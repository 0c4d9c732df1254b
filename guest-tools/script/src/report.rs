//! The reply of a script.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_view::{CAP, Windows};

use crate::place::Place;
use crate::printed::Printed;
use crate::strip::SyntaxError;

/// The reply. What does not apply is left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// Whether the script ran to its end.
    pub(crate) success: bool,
    /// The value that the script returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    /// Instead of the result, if that is longer than 32 KiB: its beginning and its end, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result_cut: Option<String>,
    /// The text that the script printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) output: String,
    /// How many bytes of the output are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) omitted_bytes: Option<u64>,
    /// Why it did not run to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Failure>,
    /// How many calls of tools it made.
    pub(crate) calls: u32,
    /// Advice for the next script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// Why a script did not run to its end.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Failure {
    /// The kind of the error, such as `TypeError`, `SyntaxError` or `ToolError`.
    pub(crate) name: String,
    /// The text of the error.
    pub(crate) message: String,
    /// Why a call of a tool failed, such as `denied`, for a `ToolError`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    /// The tool that was called, for a `ToolError`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// What caused it, for an error that has a `cause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
    /// The errors in it, for an `AggregateError`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) errors: Option<Vec<String>>,
    /// The line of the script, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
    /// The character of the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u32>,
    /// That line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
}

impl Failure {
    /// Names an error.
    pub(crate) fn new(name: &str, message: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Adds where it is in the script.
    pub(crate) fn at(self, place: Option<Place>, script: &str) -> Self {
        Self {
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            source: place.and_then(|place| place.source(script)),
            ..self
        }
    }

    /// Says what is wrong with the text of a script.
    pub(crate) fn of_syntax(error: SyntaxError, script: &str) -> Self {
        Self::new("SyntaxError", error.message).at(error.place, script)
    }
}

/// The advice for a script without an answer.
const NOTHING: &str = "The script returned nothing and printed nothing: `return` the answer, such as `return await main()`.";

/// How a script ended: with the text of a JSON value if it returned one.
pub(crate) type End = Result<Option<String>, Box<Failure>>;

impl Report {
    /// Reports a script that ended, with what it had printed and how many calls it had made.
    pub(crate) fn of(end: End, mut notes: Vec<String>, printed: &Printed, calls: u32) -> Self {
        let output = toolhost_view::render(printed.windows(), CAP);
        if matches!(&end, Ok(None)) && printed.windows().total == 0 {
            notes.push(NOTHING.to_owned());
        }
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        let (mut result, mut result_cut) = (None, None);
        let error = match end {
            Ok(None) => None,
            Ok(Some(text)) if text.len() <= CAP => {
                result = serde_json::from_str(&text).ok();
                // A value that nests deeper than the parser goes is text.
                result_cut = result.is_none().then_some(text);
                None
            }
            Ok(Some(text)) => {
                result_cut = Some(cut(&text));
                None
            }
            Err(mut failure) => {
                failure.message = cut(&failure.message);
                Some(*failure)
            }
        };
        Self {
            success: error.is_none(),
            result,
            result_cut,
            output: output.text,
            omitted_bytes: output.truncation.map(|truncation| truncation.omitted_bytes),
            error,
            calls,
            note,
        }
    }
}

fn cut(text: &str) -> String {
    let all = Windows {
        head: text.as_bytes(),
        tail: b"",
        total: text.len() as u64,
    };
    toolhost_view::render(all, CAP).text
}
