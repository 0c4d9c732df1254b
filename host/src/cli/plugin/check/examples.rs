//! Running the examples of a plugin, one after the other, each in a fresh instance and within the default limits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::report::Report;
use crate::cli::plugin::lone_call;
use toolhost_call::call::Arguments;
use toolhost_call::tool::{Content, Definition, ErrorKind, Reply, ToolError};
use toolhost_local::Local;
use toolhost_local::files;
use toolhost_local::process::Config;
use toolhost_plugin::{Capability, Cause, Example, Plugin, Schema, shown, shown_up_to};
use toolhost_service::processes::Prepared;
use toolhost_store::HostState;
use toolhost_workspace::Workspace;

/// The CPU time that one comparison with a schema may take. It takes milliseconds, unless the schema is made to take for ever.
const COMPARISON: Duration = Duration::from_secs(10);

/// Runs every example in a workspace in this directory, unless a grant that the examples need is missing.
pub(super) async fn run(
    (plugin, component): (&Plugin, &Bytes),
    missing: &[&Capability],
    prepared: Prepared,
    directory: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    let root = directory.join("workspace");
    let config = Config {
        spawner: prepared.spawner,
        ..Config::new(&root)
    };
    let state = HostState::temporary(std::env::temp_dir())?;
    let workspace = Local::open(config, files::Config::new(&root), &state).await?;
    let workspace: Arc<dyn Workspace> = Arc::new(workspace);
    for example in plugin.examples() {
        let subject = format!("example of {}", example.tool);
        let what = shown_up_to(&example.name, 80);
        let tool = plugin.tools().iter().find(|tool| tool.name == example.tool);
        let Some(tool) = tool else { continue };
        let arguments = match arguments(example, tool).await {
            Ok(arguments) => arguments,
            Err(problem) => {
                report.failed_because(&subject, format!("{what}: {problem}"));
                continue;
            }
        };
        if !missing.is_empty() {
            let wanted: Vec<_> = missing
                .iter()
                .filter_map(|need| need.options().last())
                .map(|option| format!("--grant {option}"))
                .collect();
            let text = format!(
                "{what}: it was not run; to have it run, add {}",
                wanted.join(" ")
            );
            report.skipped(&subject, text);
            continue;
        }
        match run_example(plugin, example, tool, arguments, &workspace).await {
            Ok(()) => report.ok(&subject, what),
            Err(Unkept { problem, cause }) => {
                let cause = match cause {
                    Some(cause) => Some(cause.with_lines(component.clone()).await),
                    None => None,
                };
                report.failed_with(&subject, format!("{what}: {problem}"), cause);
            }
        }
    }
    workspace.end_all().await;
    Ok(())
}

/// Checks the arguments of an example as a call does. Unless the example shows an error, also compares them with the schema of
/// the tool.
async fn arguments(example: &Example, tool: &Definition) -> Result<Arguments, String> {
    let arguments = Arguments::parse(&example.arguments).map_err(|error| error.to_string())?;
    let value: Value =
        serde_json::from_str(arguments.as_str()).map_err(|error| error.to_string())?;
    if !example.is_error {
        let compared =
            Schema::validate_on_thread(tool.input_schema.clone(), value, COMPARISON).await;
        compared
            .map_err(|problem| format!("its arguments do not fit the input schema: {problem}"))?;
    }
    Ok(arguments)
}

/// A promise that a call did not keep.
struct Unkept {
    problem: String,
    /// The cause, if the guest failed.
    cause: Option<Cause>,
}

impl From<String> for Unkept {
    fn from(problem: String) -> Self {
        Self {
            problem,
            cause: None,
        }
    }
}

/// Runs an example and compares its reply with the promised one.
async fn run_example(
    plugin: &Plugin,
    example: &Example,
    tool: &Definition,
    arguments: Arguments,
    workspace: &Arc<dyn Workspace>,
) -> Result<(), Unkept> {
    let chat = "check".parse().map_err(|error| format!("{error}"))?;
    let called = lone_call::call(
        plugin,
        chat,
        &tool.name,
        arguments,
        Arc::clone(workspace),
        None,
    );
    let (outcome, cause) = called.await.map_err(|busy| busy.to_string())?;
    let reply = match outcome.result {
        Ok(reply) => reply,
        Err(error) if example.is_error && is_of_its_own(&error) => return Ok(()),
        Err(error) => {
            let why = cause.as_ref().map(|cause| cause.text.clone());
            let why = why.unwrap_or_else(|| shown(&error.message));
            let problem = format!("it failed: {why}");
            return Err(Unkept { problem, cause });
        }
    };
    match (example.is_error, reply.is_error) {
        (true, false) => Err("it should report an error, and does not".to_owned().into()),
        (false, true) => Err(format!("it reports an error: {}", first_text(&reply)).into()),
        (true, true) => Ok(()),
        (false, false) => Ok(structured(tool, &reply).await?),
    }
}

/// Returns whether the tool itself reported the error. Otherwise the host stopped the tool.
fn is_of_its_own(error: &ToolError) -> bool {
    match error.kind {
        ErrorKind::UnknownTool
        | ErrorKind::InvalidArguments
        | ErrorKind::Denied
        | ErrorKind::Unavailable
        | ErrorKind::Failed => true,
        ErrorKind::Limit | ErrorKind::Broken | ErrorKind::Cancelled | ErrorKind::UnknownOutcome => {
            false
        }
    }
}

/// Compares the structured part of a reply with the output schema.
async fn structured(tool: &Definition, reply: &Reply) -> Result<(), String> {
    let Some(schema) = &tool.output_schema else {
        return Ok(());
    };
    let Some(json) = reply.structured() else {
        return Err("the tool has an output schema, and its reply has no json part".into());
    };
    let value = serde_json::from_str(json.get())
        .map_err(|error| format!("its json part nests too deeply: {error}"))?;
    let compared = Schema::validate_on_thread(schema.clone(), value, COMPARISON).await;
    compared.map_err(|problem| format!("its json part does not fit the output schema: {problem}"))
}

fn first_text(reply: &Reply) -> String {
    let text = reply.content.iter().find_map(|part| match part {
        Content::Text { text } => Some(text.as_str()),
        Content::Json { json } => Some(json.get()),
        _ => None,
    });
    text.map_or_else(|| "without a text".into(), shown)
}
