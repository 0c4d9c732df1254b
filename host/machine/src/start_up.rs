//! The start-up script of a template: a process in the workspace, once for each start of the machine.

use std::time::Duration;

use serde_json::{Map, Value};
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{Command, Error, State, WaitOptions, Wake};
use toolhost_workspace::{Phase, Workspace};

use crate::Log;
use crate::log::{MOST, Output};
use crate::template::Settings;

/// How much of its output is read at once, in bytes.
const PAGE: usize = 16 << 10;

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
    log.push("the start-up script runs");
    let id = workspace.start(Some(&chat), command).await?.id;
    let mut reader = Reader {
        workspace,
        chat: &chat,
        id: &id,
        cursor: 0,
        output: Output::new(log),
    };
    // A process that the script leaves running may hold the output open.
    let ends = workspace.wait(Some(&chat), &id, waiting(time, 0, false));
    tokio::select! {
        ended = ends => drop(ended?),
        failed = reader.follow(time) => return Err(failed),
    }
    reader.read().await?;
    drop(reader);
    let (phase, text) = match &workspace.info(Some(&chat), &id).await?.state {
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

fn waiting(timeout: Duration, since: u64, output: bool) -> WaitOptions {
    WaitOptions {
        timeout,
        since,
        until: None,
        output,
    }
}

/// A reader of the output of the script.
struct Reader<'a> {
    workspace: &'a dyn Workspace,
    chat: &'a ChatId,
    id: &'a str,
    cursor: u64,
    output: Output<'a>,
}

impl Reader<'_> {
    /// Reads what comes. Returns only if that fails.
    async fn follow(&mut self, time: Duration) -> Error {
        loop {
            let options = waiting(time, self.cursor, true);
            let waited = self.workspace.wait(Some(self.chat), self.id, options).await;
            let read = match waited {
                Ok(waited) if waited.wake == Wake::Output => self.read().await,
                Ok(_) => std::future::pending().await,
                Err(error) => Err(error),
            };
            if let Err(error) = read {
                return error;
            }
        }
    }

    /// Reads the output that is there now, as far as the log can keep it.
    async fn read(&mut self) -> Result<(), Error> {
        let mut until = None;
        loop {
            let (owner, since) = (Some(self.chat), self.cursor);
            let chunk = self.workspace.read(owner, self.id, since, PAGE).await?;
            let until = *until.get_or_insert(chunk.total);
            self.output.push(&chunk.data);
            self.cursor = chunk.offset + chunk.data.len() as u64;
            self.cursor = self.cursor.max(until.saturating_sub(MOST as u64));
            if chunk.data.is_empty() || self.cursor >= until {
                return Ok(());
            }
        }
    }
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
