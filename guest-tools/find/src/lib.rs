//! `find_tools`: finds the tools that a client is offered by name alone.

mod found;
mod query;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::calls::{Calls, Error, Host};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError, export_tools};

use found::Found;
use query::Query;

export_tools!(FindTools);

/// The number of tools in a reply if the model asks for no other, and the maximum.
const TOOLS: i64 = 5;
const MAX_TOOLS: i64 = 20;

/// The name in a reply's `extra` of the tools that the client is offered from now on.
const FOUND: &str = "found";

/// Finds tools.
#[derive(Debug)]
struct FindTools;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Words, "select:NAME,NAME", or "/REGEX/".
    query: String,
    /// The maximum number of tools in the reply; 5 if not given, at most 20.
    limit: Option<i64>,
}

impl Tool for FindTools {
    const NAME: &'static str = "find_tools";
    const DESCRIPTION: &'static str = include_str!("description.txt").trim_ascii_end();
    const TITLE: Option<&'static str> = Some("Find tools");
    const HINTS: Hints = Hints {
        read_only: true,
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    const EXAMPLES: &'static [Example] = &[Example {
        name: "finds tools by words",
        arguments: r#"{"query": "read a file"}"#,
        is_error: false,
    }];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Found>())
    }

    fn call(_: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        reply(&find(&Host, &arguments)?)
    }
}

/// Returns the reply, which tells the host the names of the tools.
fn reply(found: &Found) -> Result<Reply, ToolError> {
    let names = found.names();
    let reply = Reply::json(found)?;
    Ok(match names.is_empty() {
        true => reply,
        false => reply.with_extra(FOUND, serde_json::Value::from(names).to_string()),
    })
}

/// Finds tools among those that the caller may use.
fn find<C: Calls>(calls: &C, arguments: &Arguments) -> Result<Found, ToolError> {
    let query = Query::parse(&arguments.query).map_err(ToolError::InvalidArguments)?;
    let limit = arguments.limit.unwrap_or(TOOLS).clamp(1, MAX_TOOLS);
    let limit = usize::try_from(limit).unwrap_or_default();
    let found = match query {
        // One more shows whether there are further matches.
        Query::Words(words) => {
            let max = u32::try_from(limit + 1).unwrap_or(u32::MAX);
            Found::best(calls.search(words, max).map_err(failed)?, limit)
        }
        Query::Pattern(pattern) => {
            let mut tools = calls.tools().map_err(failed)?;
            tools
                .retain(|tool| pattern.is_match(&tool.name) || pattern.is_match(&tool.description));
            // The sort is stable: the tools stay sorted by name within each group.
            tools.sort_by_key(|tool| !pattern.is_match(&tool.name));
            Found::best(tools, limit)
        }
        Query::Names(names) => Found::selected(
            calls.tools().map_err(failed)?,
            &names,
            limit_of_names(limit),
        ),
    };
    Ok(found)
}

/// Returns the maximum number of tools that are selected by name. The names themselves say how many the model wants.
fn limit_of_names(limit: usize) -> usize {
    limit.max(usize::try_from(MAX_TOOLS).unwrap_or_default())
}

fn failed(error: Error) -> ToolError {
    match error {
        Error::Denied(text) => ToolError::Denied(text),
        error => ToolError::Failed(error.text().to_owned()),
    }
}
