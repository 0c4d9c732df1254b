//! Checks the tools that a plugin lists, and makes definitions that every caller can rely on.

mod resources;

use std::time::Duration;

use serde_json::Value;

use super::LoadError;
use super::limits::{MAX_PLUGIN_NAME, MAX_TOOLS};
use super::schema::{InvalidSchema, Schema};
use super::text::{hidden_in, shown};
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use toolhost_call::call::Arguments;
use toolhost_call::tool::{Definition, Hints};
use toolhost_state::thread_time::thread_time;

/// The longest name of a tool, in bytes.
const MAX_TOOL_NAME: usize = 31;

/// The longest title, in bytes.
const MAX_TITLE: usize = 256;

/// The longest description, in bytes. Some providers cut at 1 KiB.
const MAX_DESCRIPTION: usize = 16 << 10;

/// The most examples of one tool, the longest name of one, and its longest arguments, in bytes.
const MAX_EXAMPLES: usize = 32;
const MAX_EXAMPLE_NAME: usize = 256;
const MAX_EXAMPLE_ARGUMENTS: usize = 64 << 10;

/// The bytes that each text counts in the sum of all texts, beyond its own.
const OVERHEAD: usize = 32;

/// The CPU time that all schemas of one plugin may take. Each alone is bounded; a sound plugin takes milliseconds.
pub(super) const MAX_TIME: Duration = Duration::from_secs(5);

/// An example call of a tool, as the author wrote it. Its texts are bounded, and its name has no hidden character. Nothing else
/// was checked: its arguments may be invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The tool.
    pub tool: String,
    /// The name, a description of the example; at most 256 bytes.
    pub name: String,
    /// The arguments: the text of one JSON object that fits the tool's input schema, if the author made no mistake; at most 64
    /// KiB.
    pub arguments: String,
    /// Whether the reply should report an error.
    pub is_error: bool,
}

/// The tools and examples that a plugin listed.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tools: Vec<Definition>,
    pub(super) examples: Vec<Example>,
    /// Problems of examples. They do not prevent loading.
    pub(super) warnings: Vec<String>,
}

/// Checks the tools that a plugin listed. `limit` bounds the text of all tools together. `time` bounds the CPU time, which is
/// checked after each tool. This function needs much stack: do not call it on a thread that others wait for.
pub(super) fn check(
    tools: Vec<wit::Tool>,
    plugin: &str,
    limit: usize,
    time: Duration,
) -> Result<Listed, LoadError> {
    if tools.len() > MAX_TOOLS {
        return Err(LoadError::TooManyTools(tools.len()));
    }
    let size = tools.iter().map(size).sum();
    if size > limit {
        return Err(LoadError::TooMuchText { size, limit });
    }
    let began = thread_time();
    let mut listed = Listed::default();
    for tool in tools {
        let name = tool.name.clone();
        let unsound = |problem: String| LoadError::Tool {
            name: name.clone(),
            problem,
        };
        if listed.tools.iter().any(|other| other.name == name) {
            return Err(unsound("the name occurs twice".into()));
        }
        let examples = take_examples(&tool).map_err(unsound)?;
        let definition = definition(tool, plugin).map_err(unsound)?;
        for example in &examples {
            // Do not compare the arguments with the schema: its author is not trusted, and a comparison can take days. Only
            // `plugin check` compares them, in a process that it can end.
            if let Err(error) = Arguments::parse(&example.arguments) {
                let shown = shown(&example.name);
                listed.warnings.push(format!(
                    "the example \"{shown}\" of {name} cannot be called: {error}"
                ));
            }
        }
        let used = Duration::from_nanos(thread_time().saturating_sub(began));
        if used > time {
            return Err(unsound(format!(
                "checking its schemas, and those before, takes more than {} s of CPU time: make them simpler",
                time.as_secs_f64()
            )));
        }
        listed.tools.push(definition);
        listed.examples.extend(examples);
    }
    Ok(listed)
}

/// Returns how much text a tool has.
fn size(tool: &wit::Tool) -> usize {
    let pairs = tool
        .extra
        .iter()
        .map(|(name, json)| name.len() + json.len());
    let examples = tool.examples.iter();
    let examples = examples.map(|example| example.name.len() + example.arguments.len());
    [
        tool.name.len(),
        tool.title.as_ref().map_or(0, String::len),
        tool.description.len(),
        tool.input_schema.len(),
        tool.output_schema.as_ref().map_or(0, String::len),
    ]
    .into_iter()
    .chain(pairs)
    .chain(examples)
    .map(|len| len + OVERHEAD)
    .sum()
}

/// Makes a definition of a tool from the plugin's description of it.
fn definition(tool: wit::Tool, plugin: &str) -> Result<Definition, String> {
    if !is_name(&tool.name, MAX_TOOL_NAME) {
        return Err(format!(
            "its name must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most {MAX_TOOL_NAME} bytes"
        ));
    }
    if let Some(title) = &tool.title {
        check_text("title", title, MAX_TITLE, false)?;
    }
    check_text("description", &tool.description, MAX_DESCRIPTION, true)?;
    if tool.max_duration_ms == Some(0) {
        return Err(
            "its max-duration-ms is 0, with which no call could succeed: leave it out, or give a time in milliseconds"
                .into(),
        );
    }
    let unsound =
        |what: &'static str| move |error: InvalidSchema| format!("its {what} schema {error}");
    let input = Schema::parse(&tool.input_schema).map_err(unsound("input"))?;
    if input.value().get("type").and_then(Value::as_str) != Some("object") {
        return Err(
            "its input schema does not describe an object: add \"type\": \"object\"".into(),
        );
    }
    let output = tool.output_schema.as_deref().map(Schema::parse).transpose();
    let output = output.map_err(unsound("output"))?;
    let resources = resources::of(&tool)?;
    Ok(Definition {
        input_schema: input.into_value(),
        output_schema: output.map(Schema::into_value),
        hints: Hints {
            read_only: tool.hints.contains(wit::Hints::READ_ONLY),
            non_destructive: tool.hints.contains(wit::Hints::NON_DESTRUCTIVE),
            idempotent: tool.hints.contains(wit::Hints::IDEMPOTENT),
            closed_world: tool.hints.contains(wit::Hints::CLOSED_WORLD),
        },
        name: tool.name,
        title: tool.title,
        description: tool.description,
        max_duration_ms: tool.max_duration_ms,
        resources,
        plugin: plugin.to_owned(),
    })
}

/// Checks a text that models and people read.
fn check_text(what: &str, text: &str, most: usize, several_lines: bool) -> Result<(), String> {
    if text.len() > most {
        let size = text.len();
        return Err(format!("its {what} has {size} bytes, the most is {most}"));
    }
    match hidden_in(text, several_lines) {
        None => Ok(()),
        Some(c) => Err(format!(
            "its {what} has the character {}, which a model reads and a person does not see: remove it",
            c.escape_unicode()
        )),
    }
}

fn take_examples(tool: &wit::Tool) -> Result<Vec<Example>, String> {
    if tool.examples.len() > MAX_EXAMPLES {
        let count = tool.examples.len();
        return Err(format!(
            "it has {count} examples, the most is {MAX_EXAMPLES}"
        ));
    }
    let take = |example: &wit::Example| {
        check_text("example's name", &example.name, MAX_EXAMPLE_NAME, false)?;
        if example.arguments.len() > MAX_EXAMPLE_ARGUMENTS {
            return Err(format!(
                "the arguments of an example have {} bytes, the most is {MAX_EXAMPLE_ARGUMENTS}",
                example.arguments.len()
            ));
        }
        Ok(Example {
            tool: tool.name.clone(),
            name: example.name.clone(),
            arguments: example.arguments.clone(),
            is_error: example.is_error,
        })
    };
    tool.examples.iter().map(take).collect()
}

/// Returns whether a plugin can have this name.
pub fn is_plugin_name(text: &str) -> bool {
    is_name(text, MAX_PLUGIN_NAME)
}

/// `[a-z][a-z0-9]*(_[a-z0-9]+)*`. Two underscores together are kept for `plugin__tool`, so that no name can pose as one.
fn is_name(text: &str, max: usize) -> bool {
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
    use crate::cpu_limit::STACK;

    /// Each schema is bounded, and so are all of them together.
    #[test]
    fn many_heavy_schemas_reach_the_limit() {
        let pattern = |index: usize| format!(r#""{index}(\\w{{40}}){{9}}":{{}}"#);
        let patterns: Vec<_> = (0..64).map(pattern).collect();
        let schema = format!(
            r#"{{"type":"object","patternProperties":{{{}}}}}"#,
            patterns.join(",")
        );
        let tools = |count: usize| {
            let tool = |index| wit::Tool {
                name: format!("t{index}"),
                title: None,
                description: String::new(),
                input_schema: schema.clone(),
                output_schema: None,
                hints: wit::Hints::empty(),
                max_duration_ms: None,
                examples: Vec::new(),
                extra: Vec::new(),
            };
            (0..count).map(tool).collect()
        };
        let check = |count, time| {
            let tools = tools(count);
            let work = move || check(tools, "x", 1 << 20, time);
            let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
            thread.unwrap().join().unwrap()
        };
        assert_eq!(check(1, MAX_TIME).unwrap().tools.len(), 1);
        // On every machine, this much time is over before the second tool.
        let error = check(100, Duration::from_nanos(1)).unwrap_err();
        insta::assert_snapshot!(error, @r#"the tool "t0" of the plugin is not sound: checking its schemas, and those before, takes more than 0.000000001 s of CPU time: make them simpler"#);
    }

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
