//! Cloning a repository into a new directory, by a command in the sandbox of that directory.
//!
//! The command may do what every later command of the workspace may do, and no more: it reaches the same hosts, and has none of the
//! credentials of the user that runs the host.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolhost_state::id::ChatId;
use toolhost_workspace::process::{Command, State, WaitOptions};
use toolhost_workspace::{GitSpec, ProviderError, Workspace};

use super::blocking;
use crate::Local;

/// The longest address or branch, in bytes.
const MOST: usize = 2048;

/// How long a clone may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How much of the output of a clone that failed is in the error, in bytes from its end.
const TAIL: usize = 1024;

/// Runs in an empty directory. The variables keep the shell from reading the address and the branch.
const SCRIPT: &str =
    "exec git clone --quiet ${CLONE_BRANCH:+--branch \"$CLONE_BRANCH\"} -- \"$CLONE_URL\" .";

/// Checks an address and a branch.
pub(super) fn check(git: &GitSpec) -> Result<(), ProviderError> {
    let texts = [("url", Some(&git.url)), ("branch", git.branch.as_ref())];
    for (key, text) in texts {
        let is_good = |text: &String| {
            (1..=MOST).contains(&text.len())
                && !text.starts_with('-')
                && !text.chars().any(char::is_control)
        };
        if text.is_some_and(|text| !is_good(text)) {
            return Err(ProviderError::Invalid(format!(
                "git.{key} has 1 to {MOST} bytes, no control characters, and does not begin with \"-\""
            )));
        }
    }
    Ok(())
}

/// Clones a repository into an empty directory.
pub(super) async fn clone(
    beside: &Arc<Local>,
    directory: &Path,
    git: &GitSpec,
) -> Result<(), ProviderError> {
    let (local, path) = (Arc::clone(beside), directory.to_path_buf());
    let opened = move || local.beside(&path).map_err(std::io::Error::other);
    let local = blocking(opened).await?;
    let chat: ChatId = format!("workspace-{}", uuid::Uuid::new_v4().simple())
        .parse()
        .map_err(|error| ProviderError::Failed(format!("{error}")))?;
    let cloned = run(&local, &chat, git).await;
    // Ends the command if it still runs, and its namespaces.
    let ended = local.end_chat(&chat).await;
    cloned.and(ended.map(drop).map_err(|error| failed(&error)))
}

async fn run(local: &Local, chat: &ChatId, git: &GitSpec) -> Result<(), ProviderError> {
    let env = vec![
        ("CLONE_URL".to_owned(), git.url.clone()),
        (
            "CLONE_BRANCH".to_owned(),
            git.branch.clone().unwrap_or_default(),
        ),
        ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
    ];
    let command = Command {
        command: SCRIPT.to_owned(),
        env,
        ..Command::default()
    };
    let process = local
        .start(Some(chat), command)
        .await
        .map_err(|error| failed(&error))?;
    let options = WaitOptions {
        timeout: PATIENCE,
        since: 0,
        until: None,
        output: false,
    };
    local
        .wait(Some(chat), &process.id, options)
        .await
        .map_err(|error| failed(&error))?;
    let snapshot = local
        .snapshot(Some(chat), &process.id)
        .await
        .map_err(|error| failed(&error))?;
    let status = match &snapshot.state {
        State::Running => {
            return Err(told(
                &format!("is not done after {} s", PATIENCE.as_secs()),
                &[],
            ));
        }
        State::Lost(why) => return Err(told(why, &[])),
        State::Lingering(status) | State::Exited(status) => status,
    };
    match status.code {
        Some(0) => Ok(()),
        code => {
            let output = [snapshot.head, snapshot.tail].concat();
            let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            Err(told(&format!("ended with {code}"), &output))
        }
    }
}

fn told(what: &str, output: &[u8]) -> ProviderError {
    let from = output.len().saturating_sub(TAIL);
    let output = String::from_utf8_lossy(output.get(from..).unwrap_or_default());
    ProviderError::Failed(format!("git clone {what}: {}", output.trim()))
}

fn failed(error: &toolhost_workspace::process::Error) -> ProviderError {
    ProviderError::Failed(format!("git clone: {error}"))
}
