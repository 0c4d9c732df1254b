//! `run_script`: a program in JavaScript or TypeScript that calls tools, of which only the answer reaches the model.

mod engine;
mod explain;
mod export;
mod hint;
mod library;
mod natives;
mod place;
mod printed;
mod report;
mod run;
mod strip;
mod web;
mod work;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolhost_sdk::calls::Host;
use toolhost_sdk::{Call, Reply, Schema, Tool, ToolError};

use report::Report;

/// Runs a script that calls tools.
#[derive(Debug)]
struct RunScript;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Script {
    /// The body of an async function, in JavaScript or TypeScript. It may use `await` and should `return` the answer.
    code: String,
    /// The value of `input` in the script: any JSON.
    #[serde(default)]
    input: Value,
}

/// The longest that one run may take, with all that it waits for.
const MAX_DURATION: Duration = Duration::from_secs(3600);

impl Tool for RunScript {
    const NAME: &'static str = "run_script";
    const DESCRIPTION: &'static str = include_str!("description.txt");
    const TITLE: Option<&'static str> = Some("Run a script");
    const MAX_DURATION: Option<Duration> = Some(MAX_DURATION);
    type Arguments = Script;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Report>())
    }

    fn call(call: &Call, script: Script) -> Result<Reply, ToolError> {
        reply(call, &script.code, &script.input)
    }
}

/// Runs a script and replies with what became of it.
fn reply(call: &Call, code: &str, input: &Value) -> Result<Reply, ToolError> {
    let mut hasher = DefaultHasher::new();
    call.id.hash(&mut hasher);
    let report = run::run(Host, code, input, hasher.finish());
    let report =
        report.map_err(|run::Cancelled| ToolError::Failed("the call was cancelled".to_owned()))?;
    let reply = Reply::json(&report)?;
    Ok(match report.success {
        true => reply,
        false => reply.as_error(),
    })
}
