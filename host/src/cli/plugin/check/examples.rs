//! Running the examples of a plugin, one after the other, each in a fresh instance and within the default limits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::report::Report;
use toolhost_call::approval::Approval;
use toolhost_call::call::{Actor, Arguments, Request};
use toolhost_call::events::Events;
use toolhost_call::tool::{Content, Definition, ErrorKind, Reply, ToolError};
use toolhost_local::Local;
use toolhost_local::files;
use toolhost_local::process::Config;
use toolhost_plugin::{Capability, Context, Example, Plugin, Schema, shown, shown_up_to};
use toolhost_service::processes::Prepared;
use toolhost_state::id::CallId;
use toolhost_store::HostState;
use toolhost_workspace::Workspace;

/// The CPU time that one comparison with a schema may take. It takes milliseconds, unless the schema is made to take for ever.
const COMPARISON: Duration = Duration::from_secs(10);

/// Runs every example in a workspace in this directory, unless a grant that the examples need is missing.
pub(super) async fn run(
    plugin: &Plugin,
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
            Err(problem) => report.failed_because(&subject, format!("{what}: {problem}")),
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

/// Runs an example and compares its reply with the promised one.
async fn run_example(
    plugin: &Plugin,
    example: &Example,
    tool: &Definition,
    arguments: Arguments,
    workspace: &Arc<dyn Workspace>,
) -> Result<(), String> {
    let request = Arc::new(Request {
        chat: "check".parse().map_err(|error| format!("{error}"))?,
        id: CallId::random(),
        tool: tool.name.clone(),
        arguments,
        attributes: [("client".into(), "toolhost".into())].into(),
        actor: Actor::default(),
        max_wait: None,
        reach: None,
    });
    let context = Context {
        workspace: Arc::clone(workspace),
        max_wait: None,
        approval: Approval::default(),
        cancelled: CancellationToken::new(),
        events: Events::default(),
    };
    let admitted = plugin
        .admit(&request.chat)
        .map_err(|busy| busy.to_string())?;
    let outcome = plugin.call(admitted, &tool.name, request, context).await;
    let reply = match outcome.result {
        Ok(reply) => reply,
        Err(error) if example.is_error && is_of_its_own(&error) => return Ok(()),
        Err(error) => return Err(format!("it failed: {}", shown(&error.message))),
    };
    match (example.is_error, reply.is_error) {
        (true, false) => Err("it should report an error, and does not".into()),
        (false, true) => Err(format!("it reports an error: {}", first_text(&reply))),
        (true, true) => Ok(()),
        (false, false) => structured(tool, &reply).await,
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
