//! Waiting for several processes at once.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::ToolError;
use toolhost_sdk::processes::{Error, Processes, State, Wake};
use toolhost_view::CAP;

use crate::invalid;
use crate::notes::{self, Notes, Rank};
use crate::report::{Report, Standing};

/// The most processes of one wait.
pub(crate) const MOST: usize = 16;

/// Which of several processes have to end: one of those that run, or each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum WaitFor {
    #[default]
    Any,
    All,
}

/// The end of a wait for several processes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// As many have ended as had to.
    Ended,
    /// The time was over.
    TimedOut,
    /// The host did not wait for as long as was asked.
    Clamped,
    /// The call was cancelled.
    Cancelled,
}

/// Checks the ids of several processes, and leaves out repetitions.
pub(crate) fn checked<'a>(argument: &str, ids: &'a [String]) -> Result<Vec<&'a str>, ToolError> {
    let mut checked: Vec<&str> = Vec::new();
    for id in ids {
        if id.is_empty() {
            return Err(invalid(format!("{argument} has an empty id")));
        }
        if !checked.contains(&id.as_str()) {
            checked.push(id);
        }
    }
    if checked.len() > MOST {
        return Err(invalid(format!("{argument} has at most {MOST} ids")));
    }
    Ok(checked)
}

/// Waits until of these processes as many have ended as have to. Those that have ended before do not end a wait for any.
///
/// # Errors
///
/// A process is not there, or cannot be reached.
pub(crate) fn wait(
    processes: &dyn Processes,
    ids: &[&str],
    which: WaitFor,
    timeout: Duration,
    begin: Instant,
) -> Result<Waited, Error> {
    let mut running = Vec::new();
    for id in ids {
        if processes.open(id)?.info()?.state == State::Running {
            running.push(*id);
        }
    }
    while !running.is_empty() {
        let left = timeout.saturating_sub(begin.elapsed());
        let waited = processes.wait_any(&running, left)?;
        let ended = waited.ended.and_then(|place| usize::try_from(place).ok());
        match (waited.wake, ended) {
            (Wake::Ended, Some(place)) if place < running.len() => {
                running.remove(place);
                if which == WaitFor::Any {
                    break;
                }
            }
            (Wake::Clamped, _) => return Ok(Waited::Clamped),
            (Wake::Cancelled, _) => return Ok(Waited::Cancelled),
            _ => return Ok(Waited::TimedOut),
        }
    }
    Ok(Waited::Ended)
}

/// Waits for several processes, and reports how each stands and what it printed.
pub(crate) fn report(
    processes: &dyn Processes,
    ids: &[&str],
    which: WaitFor,
    timeout: Duration,
    max_bytes: usize,
) -> Report {
    let waited = match timeout.is_zero() {
        true => Ok(Waited::TimedOut),
        false => wait(processes, ids, which, timeout, Instant::now()),
    };
    let mut notes = Notes::default();
    let share = (max_bytes / ids.len().max(1)).min(CAP);
    let mut report = Report {
        success: true,
        cancelled: waited == Ok(Waited::Cancelled),
        ..Report::default()
    };
    for id in ids {
        let looked = look(processes, id, share).unwrap_or_else(|error| {
            report.success = false;
            Report::failed(match error {
                Error::NotFound => notes::not_found(id),
                error => error.to_string(),
            })
        });
        report.processes.push(Standing::of(id, looked));
    }
    match waited {
        Ok(Waited::Clamped) => notes.add(Rank::Running, notes::CLAMPED_ALL),
        Err(error) if error != Error::NotFound => {
            (report.success, report.error) = (false, Some(format!("wait for processes: {error}")));
        }
        _ => {}
    }
    report.note = notes.join();
    report
}

/// Reports one of several processes.
fn look(processes: &dyn Processes, id: &str, cap: usize) -> Result<Report, Error> {
    let process = processes.open(id)?;
    let snapshot = process.snapshot()?;
    let mut notes = Notes::default();
    let report = Report::of(&snapshot, id, &mut notes);
    let report = report.with_output(process.as_ref(), &snapshot, cap, &mut notes);
    Ok(Report {
        command: process.info().ok().map(|info| info.command),
        note: notes.join(),
        ..report
    })
}
