//! Shell commands.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use toolhost_sdk::prelude::*;
use toolhost_sdk::processes::{
    Cause, Host, Process, Processes, Signal, Snapshot, StartOptions, State, Stdin, WaitOptions,
    Wake,
};

/// Runs a command to its end.
#[tool]
pub(crate) fn shell(
    /// The command.
    command: String,
    /// Variables of its environment.
    env: Option<BTreeMap<String, String>>,
    /// Its standard input.
    stdin: Option<String>,
    /// The most seconds that it may take.
    timeout: Option<f64>,
) -> Result<Reply, ToolError> {
    let process = Host.start(StartOptions {
        command,
        env: env.unwrap_or_default().into_iter().collect(),
        stdin: stdin.map_or(Stdin::None, |text| Stdin::Bytes(text.into_bytes())),
        ..StartOptions::default()
    })?;
    let seconds = timeout.unwrap_or(60.0);
    let most = WaitOptions::at_most(Duration::from_secs_f64(seconds));
    let why = match process.wait(&most)?.wake {
        Wake::Ended => None,
        Wake::Cancelled => Some("the call was cancelled".to_owned()),
        _ => Some(format!("it took more than {seconds} s")),
    };
    if let Some(why) = why {
        process.signal(Signal::Terminate, None)?;
        return Err(ToolError::Failed(format!("the command was ended: {why}")));
    }
    let seen = process.snapshot()?;
    let State::Exited(status) = &seen.state else {
        return Err(ToolError::Failed("it has not exited".into()));
    };
    Reply::json(&json!({
        "code": status.code,
        "signal": status.signal,
        "text": text(&seen),
        "total": seen.total,
    }))
}

/// Returns the output, and how much of it is left out.
fn text(seen: &Snapshot) -> String {
    let shown = (seen.head.len() + seen.tail.len()) as u64;
    match seen.total - shown {
        0 => String::from_utf8_lossy(&[&seen.head[..], &seen.tail[..]].concat()).into_owned(),
        gap => {
            let (head, tail) = (
                String::from_utf8_lossy(&seen.head),
                String::from_utf8_lossy(&seen.tail),
            );
            format!("{head}\n[{gap} bytes left out]\n{tail}")
        }
    }
}

/// Starts a command, and looks at it in all ways.
#[tool]
pub(crate) fn background(
    /// The command.
    command: String,
) -> Result<Reply, ToolError> {
    let started: Box<dyn Process> = Host.start(StartOptions {
        command,
        background: true,
        ..StartOptions::default()
    })?;
    let matched = started.wait(&WaitOptions {
        until: Some("ready".into()),
        ..WaitOptions::at_most(Duration::from_mins(1))
    })?;
    let end = matched.match_end.unwrap_or_default();
    let chunk = started.read(0, u32::try_from(end).unwrap_or(u32::MAX))?;
    let (listed, _) = Host.list(true, 100)?;
    let listed: Vec<_> = listed.into_iter().map(|info| info.command).collect();
    let state = started.signal(Signal::Kill, None)?;
    let again = Host.open(&started.id())?;
    again.wait(&WaitOptions::at_most(Duration::from_mins(1)))?;
    let State::Exited(status) = again.info()?.state else {
        return Err(ToolError::Failed("it has not exited".into()));
    };
    Reply::json(&json!({
        "wake": (matched.wake == Wake::Matched).then_some("matched"),
        "read": String::from_utf8_lossy(&chunk.data),
        "listed": listed,
        "before": (state == State::Running).then_some("running"),
        "after": status.signal,
        "cause": (status.cause == Cause::Signalled).then_some("signalled"),
    }))
}
