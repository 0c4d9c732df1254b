//! From a tool as a plugin describes it to a definition that every caller can rely on.

use serde_json::Value;

use super::LoadError;
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use crate::tool::{Definition, Hints};

/// The longest name of a tool, in bytes.
const MAX_TOOL_NAME: usize = 31;

/// The longest name of a plugin, in bytes: with the name of a tool it stays below the 64 of model providers.
pub(super) const MAX_PLUGIN_NAME: usize = 31;

pub(super) fn definition(tool: wit::Tool, plugin: &str) -> Result<Definition, LoadError> {
    let unsound = |problem: String| LoadError::Tool {
        name: tool.name.clone(),
        problem,
    };
    if !is_name(&tool.name, MAX_TOOL_NAME) {
        let problem = format!(
            "its name must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most {MAX_TOOL_NAME} bytes"
        );
        return Err(unsound(problem));
    }
    let schema = |what: &str, text: &str| match serde_json::from_str::<Value>(text) {
        Ok(schema) if schema.is_object() => Ok(schema),
        Ok(_) => Err(unsound(format!("its {what} schema is no JSON object"))),
        Err(error) => Err(unsound(format!(
            "its {what} schema is not valid JSON: {error}"
        ))),
    };
    let input_schema = schema("input", &tool.input_schema)?;
    if input_schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(unsound(
            "its input schema does not describe an object".into(),
        ));
    }
    let output_schema = tool
        .output_schema
        .as_deref()
        .map(|text| schema("output", text))
        .transpose()?;
    let hints = Hints {
        read_only: tool.hints.contains(wit::Hints::READ_ONLY),
        non_destructive: tool.hints.contains(wit::Hints::NON_DESTRUCTIVE),
        idempotent: tool.hints.contains(wit::Hints::IDEMPOTENT),
        closed_world: tool.hints.contains(wit::Hints::CLOSED_WORLD),
    };
    Ok(Definition {
        input_schema,
        output_schema,
        hints,
        name: tool.name,
        title: tool.title,
        description: tool.description,
        max_duration_ms: tool.max_duration_ms,
        plugin: plugin.to_owned(),
    })
}

/// `[a-z][a-z0-9]*(_[a-z0-9]+)*`. Two underscores together are kept for `plugin__tool`, so that no name can pose as one.
pub(super) fn is_name(text: &str, max: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let separated = !text.contains("__") && !text.ends_with('_');
    text.len() <= max
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(allowed)
        && separated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_every_provider_takes() {
        for good in ["execute", "a", "read_file2", &"x".repeat(31)] {
            assert!(is_name(good, 31), "{good}");
        }
        for bad in [
            "",
            "Execute",
            "1a",
            "_a",
            "a-b",
            "a.b",
            "ä",
            "a b",
            "a__b",
            "a_",
            &"x".repeat(32),
        ] {
            assert!(!is_name(bad, 31), "{bad}");
        }
    }
}
