//! The start-up script of a template: a process in the workspace, once for each start of the machine.

use std::time::Duration;

use serde_json::{Map, Value};
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{Command, Error, State, WaitOptions};
use toolhost_workspace::{Phase, Workspace};

use crate::Log;
use crate::template::Settings;

/// The chat that the script belongs to, at the agent. What it leaves running goes on.
const CHAT: &str = "toolhost.start-up";

/// Runs the script, or waits for the one that runs since this start of the machine. Returns the phase of the workspace after it.
pub(crate) async fn run(
    workspace: &dyn Workspace,
    settings: &Settings,
    parameters: &Map<String, Value>,
    since: &str,
    log: &Log,
) -> Phase {
    let Some(script) = &settings.start_up else {
        return Phase::Ready;
    };
    let command = Command {
        command: script.clone(),
        env: parameters.iter().map(variable).collect(),
        // A host that was killed meanwhile must not run it twice.
        key: Some(blake3::hash(since.as_bytes()).to_hex().to_string()),
        ..Command::default()
    };
    let time = Duration::from_secs(settings.start_up_seconds);
    match finish(workspace, command, time, log).await {
        Ok(phase) => phase,
        Err(error) => {
            log.push(&format!("the start-up script cannot be run: {error}"));
            Phase::StartFailed
        }
    }
}

async fn finish(
    workspace: &dyn Workspace,
    command: Command,
    time: Duration,
    log: &Log,
) -> Result<Phase, Error> {
    let chat: ChatId = CHAT
        .parse()
        .map_err(|_| Error::Unavailable(format!("{CHAT} is no chat")))?;
    let process = workspace.start(Some(&chat), command).await?;
    let options = WaitOptions {
        timeout: time,
        since: 0,
        until: None,
        output: false,
    };
    workspace.wait(Some(&chat), &process.id, options).await?;
    let snapshot = workspace.snapshot(Some(&chat), &process.id).await?;
    let output = [snapshot.head, snapshot.tail].concat();
    log.push(&String::from_utf8_lossy(&output));
    let (phase, text) = match &snapshot.state {
        State::Running => {
            let text = format!("still runs after {} s", time.as_secs());
            (Phase::StartTimeout, text)
        }
        State::Lost(why) => (Phase::StartFailed, format!("was lost: {why}")),
        State::Lingering(status) | State::Exited(status) => match status.code {
            Some(0) => (Phase::Ready, "is done".to_owned()),
            Some(code) => (Phase::StartFailed, format!("ended with exit code {code}")),
            None => (Phase::StartFailed, "was ended by a signal".to_owned()),
        },
    };
    log.push(&format!("the start-up script {text}"));
    Ok(phase)
}

/// Returns a parameter as a variable of the script.
fn variable((name, value): (&String, &Value)) -> (String, String) {
    let name = name.to_ascii_uppercase();
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let value = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (format!("PARAMETER_{name}"), value)
}
