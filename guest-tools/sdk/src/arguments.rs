//! From the text of a call's arguments to typed ones, with errors that a model can act on.

pub(crate) mod likeness;
mod plain;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::parameters::text;
use crate::{Schema, ToolError};

/// How alike an argument's name and an unknown one are at least for the one to be meant.
const ALIKE: f64 = 0.75;

/// Reads the arguments of a call, in any way in which models write them (see [`plain`]).
///
/// # Errors
///
/// [`ToolError::InvalidArguments`], which names the argument that does not fit.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, ToolError> {
    let invalid = |error: &dyn std::fmt::Display| {
        ToolError::InvalidArguments(format!("invalid arguments: {error}"))
    };
    let text = if text.trim().is_empty() { "{}" } else { text };
    let written = serde_json::from_str(text).map_err(|error| invalid(&error))?;
    let arguments = plain::plain(written, Schema::of_arguments::<T>().value());
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.inner().to_string();
        let unknown = format!("unknown field `{path}`");
        // The path of an argument that is missing is that of the object, `.`; of one that is unknown, its own name.
        if reason.starts_with(&unknown) {
            invalid(&unknown_argument(&path, &Schema::names::<T>()))
        } else if path == "." || reason.contains(&format!("`{path}`")) {
            invalid(&natural(&reason))
        } else {
            ToolError::InvalidArguments(format!("invalid argument `{path}`: {}", natural(&reason)))
        }
    })
}

/// Writes whole numbers as integers: `1.0` is `1`.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn whole_numbers(value: serde_json::Value) -> serde_json::Value {
    plain::plain(value, &true.into())
}

/// Says that there is no such argument, and which one may be meant.
pub(crate) fn unknown_argument<N: AsRef<str>>(unknown: &str, names: &[N]) -> String {
    let alike = |name: &&str| {
        let part = unknown.len().min(name.len()) >= 3
            && (contains(name, unknown) || contains(unknown, name));
        likeness::jaro_winkler(unknown, name).max(if part { ALIKE } else { 0.0 })
    };
    let nearest = names
        .iter()
        .map(AsRef::as_ref)
        .max_by(|one, other| alike(one).total_cmp(&alike(other)))
        .filter(|name| alike(name) >= ALIKE);
    let mut sentence = text(&["there is no argument `", unknown, "`"]);
    match nearest {
        Some(name) => sentence.push_str(&text(&["; did you mean `", name, "`?"])),
        None => sentence.push('.'),
    }
    let mut separator = " The arguments are ";
    for name in names {
        sentence.push_str(&text(&[separator, "`", name.as_ref(), "`"]));
        separator = ", ";
    }
    sentence.push_str(if names.is_empty() {
        " This tool takes none."
    } else {
        "."
    });
    sentence
}

/// Returns whether a name is part of another. The search of the standard library is larger than all of the rest here.
fn contains(name: &str, part: &str) -> bool {
    name.as_bytes()
        .windows(part.len())
        .any(|one| one == part.as_bytes())
}

/// Returns the text of an error in words of JSON, where serde has words of Rust.
fn natural(reason: &str) -> String {
    if reason.contains("untagged enum") {
        return "it has none of the forms that this argument can have".to_owned();
    }
    let Some((found, expected)) = reason.rsplit_once(", expected ") else {
        return reason.to_owned();
    };
    let words = [
        ("invalid type: floating point ", "invalid type: number "),
        ("invalid type: sequence", "invalid type: array"),
        ("invalid type: map", "invalid type: object"),
    ];
    let found = words
        .into_iter()
        .find_map(|(rust, json)| Some(format!("{json}{}", found.strip_prefix(rust)?)))
        .unwrap_or_else(|| found.to_owned());
    let integer = |least: &str, most: &str| format!("an integer from {least} to {most}");
    let expected = match expected {
        "i8" => integer("-128", "127"),
        "i16" => integer("-32768", "32767"),
        "i32" => integer("-2147483648", "2147483647"),
        "i64" | "i128" | "isize" => "an integer".to_owned(),
        "u8" => integer("0", "255"),
        "u16" => integer("0", "65535"),
        "u32" => integer("0", "4294967295"),
        "u64" | "u128" | "usize" => "an integer of 0 or more".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "an object".to_owned(),
        "string or map" => "a string or an object".to_owned(),
        expected if expected.starts_with("struct ") => "an object".to_owned(),
        expected => expected.to_owned(),
    };
    format!("{found}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        #[serde(alias = "dir")]
        path: String,
        depth: Option<u32>,
        #[serde(default)]
        edits: Vec<Edit>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Edit {
        line: u32,
    }

    fn refusal(text: &str) -> String {
        parse::<Arguments>(text).unwrap_err().to_string()
    }

    #[test]
    fn reads_names_aliases_and_nulls() {
        let expected = Arguments {
            path: "a".into(),
            depth: None,
            edits: vec![],
        };
        assert_eq!(parse::<Arguments>(r#"{"path": "a"}"#), Ok(expected));
        assert_eq!(
            parse::<Arguments>(r#"{"dir": "a", "depth": null}"#)
                .unwrap()
                .path,
            "a"
        );
    }

    #[test]
    fn names_what_does_not_fit() {
        assert_eq!(refusal(""), "invalid arguments: missing field `path`");
        assert_eq!(
            refusal(r#"{"path": 5}"#),
            "invalid argument `path`: invalid type: integer `5`, expected a string"
        );
        assert_eq!(
            refusal(r#"{"path": "", "edits": [{"line": 1}, {"line": "x"}]}"#),
            "invalid argument `edits[1].line`: invalid type: string \"x\", expected an integer from 0 to 4294967295"
        );
        assert_eq!(
            refusal(r#"{"path": "", "deep": 1}"#),
            "invalid arguments: there is no argument `deep`; did you mean `depth`? The arguments are `path`, `depth`, `edits`."
        );
        assert_eq!(
            refusal(r#"{"path": "", "recursive": true}"#),
            "invalid arguments: there is no argument `recursive`. The arguments are `path`, `depth`, `edits`."
        );
        assert_eq!(
            refusal(r#"{"path": "", "depth": 1.5}"#),
            "invalid argument `depth`: invalid type: number `1.5`, expected an integer from 0 to 4294967295"
        );
        assert_eq!(
            refusal(r#"{"path": "", "edits": true}"#),
            "invalid argument `edits`: invalid type: boolean `true`, expected an array"
        );
        assert!(
            refusal("{").contains("EOF while parsing"),
            "{}",
            refusal("{")
        );
        assert!(
            refusal("[]").contains("expected an object"),
            "{}",
            refusal("[]")
        );
        assert!(
            refusal("{} {}").contains("trailing characters"),
            "{}",
            refusal("{} {}")
        );
    }
}
