//! From the text of a call's arguments to typed ones, with errors that a model can act on.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{Schema, ToolError};

/// How alike an argument's name and an unknown one are at least for the one to be meant.
const ALIKE: f64 = 0.75;

/// Reads the arguments of a call.
///
/// # Errors
///
/// [`ToolError::InvalidArguments`], which names the argument that does not fit.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, ToolError> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut json = serde_json::Deserializer::from_str(text);
    let arguments = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let reason = without_position(error.inner());
        let unknown = format!("unknown field `{path}`");
        // The path of an argument that is missing is that of the object, `.`; of one that is unknown, its own name.
        ToolError::InvalidArguments(if reason.starts_with(&unknown) {
            format!(
                "invalid arguments: {}",
                unknown_argument(&path, &Schema::names::<T>())
            )
        } else if path == "." || reason.contains(&format!("`{path}`")) {
            format!("invalid arguments: {reason}")
        } else {
            format!("invalid argument `{path}`: {reason}")
        })
    })?;
    json.end()
        .map_err(|error| ToolError::InvalidArguments(format!("invalid arguments: {error}")))?;
    Ok(arguments)
}

/// Says that there is no such argument, and which one may be meant.
fn unknown_argument(unknown: &str, names: &[String]) -> String {
    let alike = |name: &&String| {
        let part = unknown.len().min(name.len()) >= 3
            && (name.contains(unknown) || unknown.contains(name.as_str()));
        strsim::jaro_winkler(unknown, name).max(if part { ALIKE } else { 0.0 })
    };
    let nearest = names
        .iter()
        .max_by(|one, other| alike(one).total_cmp(&alike(other)))
        .filter(|name| alike(name) >= ALIKE);
    let meant = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    let known: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let known = match known.len() {
        0 => " This tool takes none.".to_owned(),
        _ => format!(" The arguments are {}.", known.join(", ")),
    };
    let stop = if meant.is_empty() { "." } else { "" };
    format!("there is no argument `{unknown}`{meant}{stop}{known}")
}

/// Returns what an error says, without the line and column: a model never sees its arguments as text.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if !error.is_data() {
        return text;
    }
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position)
        .map(str::to_owned)
        .unwrap_or(text)
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
            "invalid argument `edits[1].line`: invalid type: string \"x\", expected u32"
        );
        assert_eq!(
            refusal(r#"{"path": "", "deep": 1}"#),
            "invalid arguments: there is no argument `deep`; did you mean `depth`? The arguments are `path`, `depth`, `edits`."
        );
        assert_eq!(
            refusal(r#"{"path": "", "recursive": true}"#),
            "invalid arguments: there is no argument `recursive`. The arguments are `path`, `depth`, `edits`."
        );
        assert!(
            refusal("{").contains("EOF while parsing"),
            "{}",
            refusal("{")
        );
        assert!(
            refusal("[]").contains("expected struct Arguments"),
            "{}",
            refusal("[]")
        );
        assert!(
            refusal("{} {}").contains("missing field"),
            "{}",
            refusal("{} {}")
        );
    }
}
