//! A tool that calls other tools as its arguments say, as a plugin for tests of the capability `calls`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolhost_sdk::calls::{Calls, Content, Error, Host, Waited};
use toolhost_sdk::{Call, Hints, Reply, Tool, ToolError, export_tools};

export_tools!(CallTools, ListTools, LookForTools);

/// Calls tools, and replies with how each call ended.
#[derive(Debug)]
struct CallTools;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Plan {
    /// The calls.
    calls: Vec<Step>,
    /// Whether all calls are started before the first one is waited for.
    #[serde(default)]
    together: bool,
    /// Whether the calls that still run are cancelled as soon as one has ended.
    #[serde(default)]
    race: bool,
    /// Whether the plugin breaks once all calls are started.
    #[serde(default)]
    broken: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    /// The name of the tool.
    tool: String,
    /// The arguments.
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

/// The longest that the tool waits for one call.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Tool for CallTools {
    const NAME: &'static str = "call_tools";
    const DESCRIPTION: &'static str = "Calls tools, and replies with how each call ended.";
    const MAX_DURATION: Option<Duration> = Some(PATIENCE);
    type Arguments = Plan;

    fn call(_: &Call, plan: Plan) -> Result<Reply, ToolError> {
        let ends = follow(&Host, &plan);
        Reply::json(&json!({ "ends": ends }))
    }
}

/// Makes the calls of a plan. Returns how each ended, in the order of the plan.
fn follow<C: Calls>(calls: &C, plan: &Plan) -> Vec<Value> {
    let mut ends = vec![Value::Null; plan.calls.len()];
    let mut running = Vec::new();
    for (at, step) in plan.calls.iter().enumerate() {
        let arguments = Value::Object(step.arguments.clone()).to_string();
        match calls.start(&step.tool, &arguments) {
            Ok(call) => running.push((at, call)),
            Err(error) => set(&mut ends, at, failed(&error)),
        }
        if !plan.together {
            wait(calls, &mut running, &mut ends, false);
        }
    }
    assert!(!plan.broken, "the plan says so");
    wait(calls, &mut running, &mut ends, plan.race);
    ends
}

/// Waits until all of these calls have ended.
fn wait<C: Calls>(calls: &C, running: &mut Vec<(usize, C::Call)>, ends: &mut [Value], race: bool) {
    while !running.is_empty() {
        let all: Vec<_> = running.iter().map(|(_, call)| call).collect();
        let ended = match calls.wait_any(&all, PATIENCE) {
            Ok(Waited::Ended(ended)) => ended as usize,
            Ok(other) => return set(ends, 0, json!({ "waited": format!("{other:?}") })),
            Err(error) => return set(ends, 0, failed(&error)),
        };
        let (at, call) = running.swap_remove(ended);
        let end = match calls.reply(&call) {
            Some(Ok(reply)) => json!({
                "id": calls.id(&call), "is_error": reply.is_error, "processes": reply.processes,
                "content": reply.content.iter().map(content).collect::<Value>(),
            }),
            Some(Err(error)) => {
                let mut end = failed(&error);
                if let Some(end) = end.as_object_mut() {
                    end.insert("id".to_owned(), calls.id(&call).into());
                }
                end
            }
            None => json!({ "error": "it has ended without an end" }),
        };
        set(ends, at, end);
        if race {
            running.iter().for_each(|(_, call)| calls.cancel(call));
        }
    }
}

fn set(ends: &mut [Value], at: usize, end: Value) {
    if let Some(place) = ends.get_mut(at) {
        *place = end;
    }
}

fn failed(error: &Error) -> Value {
    json!({ "error": error.kind(), "text": error.text() })
}

fn content(part: &Content) -> Value {
    match part {
        Content::Text(text) => json!(text),
        Content::Json(text) => serde_json::from_str(text).unwrap_or_default(),
        Content::Image(blob) | Content::Audio(blob) => json!({ "bytes": blob.data.len() }),
        Content::Document(document) => json!({ "uri": document.uri }),
    }
}

/// Lists the tools that it can call.
#[derive(Debug)]
struct ListTools;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Tool for ListTools {
    const NAME: &'static str = "list_tools";
    const DESCRIPTION: &'static str = "Lists the tools that it can call.";
    const HINTS: Hints = READ_ONLY;
    type Arguments = Nothing;

    fn call(_: &Call, _: Nothing) -> Result<Reply, ToolError> {
        names(Host.tools())
    }
}

/// Looks for tools that it can call. It promises to change nothing, and calls the first of them all the same.
#[derive(Debug)]
struct LookForTools;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// The words to look for.
    query: String,
    /// The tool to call with no arguments.
    call: Option<String>,
}

const READ_ONLY: Hints = Hints {
    read_only: true,
    ..Hints::NONE
};

impl Tool for LookForTools {
    const NAME: &'static str = "look_for_tools";
    const DESCRIPTION: &'static str =
        "Looks for tools that it can call, and promises to change nothing.";
    const HINTS: Hints = READ_ONLY;
    type Arguments = Query;

    fn call(_: &Call, query: Query) -> Result<Reply, ToolError> {
        if let Some(tool) = query.call {
            let plan = Plan {
                calls: vec![Step {
                    tool,
                    arguments: serde_json::Map::new(),
                }],
                together: false,
                race: false,
                broken: false,
            };
            return Reply::json(&json!({ "ends": follow(&Host, &plan) }));
        }
        names(Host.search(&query.query, 3))
    }
}

fn names(tools: Result<Vec<toolhost_sdk::calls::Tool>, Error>) -> Result<Reply, ToolError> {
    match tools {
        Ok(tools) => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            Reply::json(&json!({ "tools": names }))
        }
        Err(error) => Reply::json(&failed(&error)),
    }
}
