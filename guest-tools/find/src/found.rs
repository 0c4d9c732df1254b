//! The reply: the definitions of the tools that were found.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolhost_sdk::calls::Tool;

/// The maximum bytes of all definitions in a reply. The first definition is always in it: the host bounds each.
const BYTES: usize = 64 << 10;

/// The deepest schema that a reply can hold: its JSON has at most 64 levels.
const DEPTH: usize = 56;

/// The maximum number of names that are repeated because no tool has them, and of characters of each.
const UNKNOWN: usize = 20;
const UNKNOWN_LENGTH: usize = 64;

/// The tools that were found.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Found {
    /// The best matches first.
    tools: Vec<Definition>,
    /// Names of the query that no tool has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
    /// Names of matches that did not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// Advice for the next query.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// A tool that can be called.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Definition {
    name: String,
    description: String,
    /// The JSON Schema of the arguments.
    input_schema: Value,
}

impl From<Tool> for Definition {
    fn from(tool: Tool) -> Self {
        let schema = serde_json::from_str(&tool.input_schema).unwrap_or_default();
        let input_schema = match nests_deeper(&schema, DEPTH) {
            true => Value::String(tool.input_schema),
            false => schema,
        };
        Self {
            name: tool.name,
            description: tool.description,
            input_schema,
        }
    }
}

impl Found {
    /// Takes the first of the tools that match.
    pub(crate) fn best(mut tools: Vec<Tool>, limit: usize) -> Self {
        let is_more = tools.len() > limit;
        tools.truncate(limit);
        let is_none = tools.is_empty();
        let mut found = Self::fitting(tools);
        if is_none {
            found.note = Some(
                "No tool matches. Use other or fewer words, or choose names from the description of find_tools.",
            );
        } else if is_more && found.note.is_none() {
            found.note = Some(
                "More tools match. If none of these fits, use more exact words or a larger limit.",
            );
        }
        found
    }

    /// Takes the tools with these names, in the order of the names.
    pub(crate) fn selected(mut tools: Vec<Tool>, names: &[&str], limit: usize) -> Self {
        let (mut selected, mut unknown) = (Vec::new(), Vec::new());
        for name in names {
            match tools.iter().position(|tool| tool.name == *name) {
                Some(at) => selected.push(tools.swap_remove(at)),
                None if unknown.len() < UNKNOWN => {
                    unknown.push(name.chars().take(UNKNOWN_LENGTH).collect());
                }
                None => {}
            }
        }
        let rest = selected.split_off(limit.min(selected.len()));
        let mut found = Self::fitting(selected);
        found
            .left_out
            .extend(rest.into_iter().map(|tool| tool.name));
        found.unknown = unknown;
        if !found.unknown.is_empty() {
            found.note = Some(
                "Some names are not names of tools that you can use. Choose names from the description of find_tools, or use words.",
            );
        } else if !found.left_out.is_empty() {
            found.note = Some(LEFT_OUT);
        }
        found
    }

    /// Takes the first of these tools whose definitions fit.
    fn fitting(tools: Vec<Tool>) -> Self {
        let (mut found, mut bytes) = (Self::default(), 0);
        for tool in tools {
            bytes += tool.name.len() + tool.description.len() + tool.input_schema.len();
            if bytes > BYTES && !found.tools.is_empty() {
                found.left_out.push(tool.name);
                found.note = Some(LEFT_OUT);
            } else {
                found.tools.push(tool.into());
            }
        }
        found
    }

    /// Returns the names of the tools.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

const LEFT_OUT: &str = "The definitions of left_out do not fit in this reply. Select those tools by name in another call.";

/// Returns whether a value has more levels than this.
fn nests_deeper(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else {
        return matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(items) => items.iter().any(|item| nests_deeper(item, left)),
        Value::Object(fields) => fields.values().any(|field| nests_deeper(field, left)),
        _ => false,
    }
}
