//! Scripts that are tools of their own: those of the directory that the setting `library` names, which the host reads.
//!
//! A script begins with a comment. Its text is the description of the tool; `@input` in it begins a JSON Schema of the arguments, which
//! the script finds as `input`, and `@readonly` promises that the script changes nothing:
//!
//! ```js
//! /**
//!  * Counts the lines of some files.
//!  * @readonly
//!  * @input {"type": "object", "properties": {"paths": {"type": "array"}}, "required": ["paths"]}
//!  */
//! const files = await Promise.all(input.paths.map((path) => tools.read_file({ path })));
//! return files.reduce((sum, file) => sum + file.total_lines, 0);
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolhost_sdk::{Tool as _, settings};

use crate::{RunScript, strip};

/// A script that is a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// The description of the tool.
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Value,
    /// Whether it promises to change nothing.
    pub(crate) is_read_only: bool,
}

/// An entry of the library, as the host hands it over.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Script {
    Code(String),
    /// The host could not read the file.
    Unreadable {
        problem: String,
    },
}

impl Script {
    pub(crate) fn code(&self) -> Result<&str, String> {
        match self {
            Self::Code(code) => Ok(code),
            Self::Unreadable { problem } => Err(problem.clone()),
        }
    }
}

/// Returns the scripts of the library, by their names.
pub(crate) fn scripts() -> Result<BTreeMap<String, Script>, String> {
    match settings::get("library") {
        Some(setting) => serde_json::from_str(&setting)
            .map_err(|error| format!("the setting `library` is no library: {error}")),
        None => Ok(BTreeMap::new()),
    }
}

/// Reads a script of the library, and looks whether it can be a tool.
pub(crate) fn checked(name: &str, script: &Script) -> Result<Entry, String> {
    if name == RunScript::NAME || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(format!("its file makes no name for a tool: `{name}`"));
    }
    let code = script.code()?;
    let entry = entry(code)?;
    strip::strip(code).map_err(|error| {
        let place = error
            .place
            .map_or_else(String::new, |place| format!(" in line {}", place.line));
        format!("it is no script: {}{place}", error.message)
    })?;
    Ok(entry)
}

/// Reads the comment of a script.
pub(crate) fn entry(code: &str) -> Result<Entry, String> {
    let comment = code
        .trim_start()
        .strip_prefix("/**")
        .and_then(|rest| rest.split_once("*/"));
    let (comment, _) =
        comment.ok_or("it must begin with a comment /** … */ that says what it does")?;
    let lines = comment.lines().map(|line| {
        let line = line.trim();
        line.strip_prefix('*').unwrap_or(line).trim()
    });
    let (mut description, mut input, mut is_read_only) = (Vec::new(), None, false);
    for line in lines {
        if line == "@readonly" {
            is_read_only = true;
        } else if let Some(schema) = line.strip_prefix("@input") {
            input = Some(schema.to_owned());
        } else if let Some(input) = &mut input {
            input.push('\n');
            input.push_str(line);
        } else {
            description.push(line);
        }
    }
    let description = description.join("\n").trim().to_owned();
    if description.is_empty() {
        return Err("it has a comment that does not say what it does".to_owned());
    }
    let schema = match input {
        None => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        Some(text) => serde_json::from_str(&text)
            .map_err(|error| format!("it has no JSON Schema behind @input: {error}"))?,
    };
    if schema.get("type").is_some_and(|kind| kind != "object") || !schema.is_object() {
        return Err("its JSON Schema behind @input is not one of an object".to_owned());
    }
    Ok(Entry {
        description,
        schema,
        is_read_only,
    })
}

impl Entry {
    /// Compares arguments with the schema: which there must be, which there may be, and the type of each. What is inside of an
    /// argument is for the script to look at.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let required = self.schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !arguments.contains_key(name) {
                return Err(format!("the argument `{name}` is missing"));
            }
        }
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let is_closed = self.schema.get("additionalProperties") == Some(&Value::Bool(false));
        for (name, value) in arguments {
            match properties.and_then(|properties| properties.get(name)) {
                None if is_closed => return Err(format!("there is no argument `{name}`")),
                Some(property) if !has_type(value, property.get("type")) => {
                    let types = property.get("type").unwrap_or_default();
                    return Err(format!("the argument `{name}` must be of type {types}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn has_type(value: &Value, types: Option<&Value>) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        _ => true,
    };
    match types {
        None => true,
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: &str = "/**\n * Counts lines.\n *\n * Of files.\n * @readonly\n * @input {\"type\": \"object\",\n *   \"properties\": {\"paths\": {\"type\": \"array\"}},\n *   \"required\": [\"paths\"], \"additionalProperties\": false}\n */\nreturn 1";

    #[test]
    fn a_comment_describes_the_tool() {
        let checked = |name: &str, code: &str| super::checked(name, &Script::Code(code.to_owned()));
        let count = checked("count", COUNT).expect("it is a tool");
        let least = checked("least", "/** Does nothing. */").expect("it is a tool");
        assert_eq!(count.description, "Counts lines.\n\nOf files.");
        assert!(count.is_read_only && count.schema["required"] == json!(["paths"]));
        assert_eq!(least.description, "Does nothing.");
        assert!(!least.is_read_only);
    }

    #[test]
    fn what_is_no_tool_is_named() {
        for (name, code, problem) in [
            ("a", "return 1", "must begin with a comment"),
            ("a", "/** */ return 1", "does not say what it does"),
            ("a", "/** A. @input {} */", ""),
            ("a", "/** A.\n@input {\n*/", "no JSON Schema"),
            (
                "a",
                "/** A.\n@input {\"type\": \"array\"}\n*/",
                "not one of an object",
            ),
            ("a", "/** A. */\nreturn (", "is no script: "),
            ("run_script", "/** A. */", "no name for a tool"),
            ("", "/** A. */", "no name for a tool"),
        ] {
            let read = checked(name, &Script::Code(code.to_owned()));
            match problem {
                "" => assert!(read.is_ok(), "{code}: {read:?}"),
                problem => assert!(
                    read.clone().is_err_and(|text| text.contains(problem)),
                    "{code}: {read:?}"
                ),
            }
        }
        let unreadable =
            serde_json::from_value(json!({ "problem": "it is too long" })).expect("a script");
        assert_eq!(checked("a", &unreadable), Err("it is too long".to_owned()));
    }

    #[test]
    fn arguments_are_compared_with_the_schema() {
        let entry = entry(COUNT).expect("it is a tool");
        let check = |arguments: Value| entry.check(arguments.as_object().expect("an object"));
        assert_eq!(check(json!({ "paths": [] })), Ok(()));
        assert_eq!(
            check(json!({})),
            Err("the argument `paths` is missing".to_owned())
        );
        assert_eq!(
            check(json!({ "paths": "a" })),
            Err("the argument `paths` must be of type \"array\"".to_owned())
        );
        assert_eq!(
            check(json!({ "paths": [], "b": 1 })),
            Err("there is no argument `b`".to_owned())
        );
    }
}
