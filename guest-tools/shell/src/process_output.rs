//! `process_output`: what a process that was started earlier printed, and how it stands.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::processes::{
    Error, Host, Process, Processes, Snapshot, State, WaitOptions, Wake,
};
use toolhost_sdk::{Call, Hints, Reply, Schema, Tool, ToolError};

use crate::duration::{self, Parsed};
use crate::notes::{self, Notes};
use crate::report::Report;
use crate::{invalid, wait};

const DEFAULT_WAIT: Duration = Duration::from_secs(10);
const MAX_WAIT: Duration = Duration::from_hours(1);
const DEFAULT_MAX_BYTES: u32 = 32 * 1024;
/// As JSON, each of these bytes can become six.
const MAX_MAX_BYTES: u32 = 128 * 1024;

/// The tool.
#[derive(Debug)]
pub(crate) struct ProcessOutput;

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The background_process_id of execute's reply.
    #[serde(default)]
    #[schemars(!default)]
    process_id: String,
    /// How long to wait for the process to end, such as "30s" or "5m"; with since, for more output. Default "10s". "0s"
    /// looks and replies at once.
    wait_timeout: Option<String>,
    /// Why you look at the process, as a short phrase such as "waiting for the server to start". People see it in place
    /// of the command. Plain English, under 100 characters.
    #[expect(dead_code, reason = "it is for people; the host passes it on")]
    model_intent: Option<String>,
    /// Reply with the output from this byte offset on only: the cursor of an earlier reply, or 0 for the beginning.
    since: Option<u64>,
    /// With since: the most bytes of output to reply with, up to 131072. Default 32768.
    max_bytes: Option<u32>,
}

impl Tool for ProcessOutput {
    const NAME: &'static str = "process_output";
    const TITLE: Option<&'static str> = Some("Read a process's output");
    const DESCRIPTION: &'static str = "Read the output of a process that execute started in the background or that ran \
        into its timeout, and see whether it still runs. Waits for the process to end, at most wait_timeout (default \
        10s), and replies with what there is then.\n\
        Without since, the reply has the beginning and the end of all output so far. With since, it has only the output \
        from that cursor on, and a cursor to go on with: use it to follow a process, or to read what another reply \
        omitted.";
    const HINTS: Hints = Hints {
        read_only: true,
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    const MAX_DURATION: Option<Duration> = Some(MAX_WAIT.saturating_add(Duration::from_mins(1)));
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Report>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        Reply::json(&run(&Host, &arguments)?)
    }
}

/// A stretch of output that is asked for.
#[derive(Debug, Clone, Copy)]
struct Page {
    since: u64,
    max_bytes: u32,
}

/// Runs one call.
///
/// # Errors
///
/// An argument is not valid. Everything else is reported.
fn run(processes: &dyn Processes, arguments: &Arguments) -> Result<Report, ToolError> {
    let id = arguments.process_id.as_str();
    if id.is_empty() {
        return Err(invalid("process_id is required"));
    }
    let timeout = wait_timeout(arguments.wait_timeout.as_deref())?;
    let max_bytes = arguments.max_bytes.unwrap_or(DEFAULT_MAX_BYTES);
    if !(1..=MAX_MAX_BYTES).contains(&max_bytes) {
        return Err(invalid(format!(
            "max_bytes must be between 1 and {MAX_MAX_BYTES}"
        )));
    }
    let page = arguments.since.map(|since| Page { since, max_bytes });
    Ok(
        report(processes, id, timeout, page).unwrap_or_else(|error| {
            let error = match error {
                Error::NotFound => format!("process \"{id}\" not found"),
                other => other.to_string(),
            };
            Report::failed(format!("get process output: {error}"))
        }),
    )
}

fn wait_timeout(argument: Option<&str>) -> Result<Duration, ToolError> {
    let Some(text) = argument else {
        return Ok(DEFAULT_WAIT);
    };
    match duration::parse(text) {
        Ok(Parsed::Positive(wait)) => Ok(wait),
        Ok(Parsed::NotPositive) => Ok(Duration::ZERO),
        Err(reason) => Err(invalid(format!(
            "invalid wait_timeout \"{text}\": {reason}"
        ))),
    }
}

fn report(
    processes: &dyn Processes,
    id: &str,
    timeout: Duration,
    page: Option<Page>,
) -> Result<Report, Error> {
    let process = processes.open(id)?;
    let options = WaitOptions {
        timeout: timeout.min(MAX_WAIT),
        since: page.map_or(0, |page| page.since),
        output: page.is_some(),
        until: None,
    };
    let wake = if timeout.is_zero() {
        Ok(Wake::TimedOut)
    } else {
        wait::wait(process.as_ref(), &options, Instant::now()).map(|waited| waited.wake)
    };
    // A wait that failed says more than a look that fails after it.
    let snapshot = process
        .snapshot()
        .map_err(|error| wake.clone().err().unwrap_or(error))?;

    let mut notes = Notes::default();
    let mut report = Report::of(&snapshot, id, &mut notes);
    if snapshot.state == State::Running {
        report.success = true;
        let is_clamped = wake == Ok(Wake::Clamped);
        notes.add(if is_clamped {
            notes::clamped(id)
        } else {
            notes::STILL_RUNNING.to_owned()
        });
    }
    report.cancelled = wake == Ok(Wake::Cancelled);
    report = match page {
        None => report.with_output(&snapshot, id, &mut notes),
        Some(page) => with_page(report, process.as_ref(), &snapshot, page, &mut notes)?,
    };
    report.note = notes.join();
    Ok(report)
}

/// Adds the output from a cursor on.
fn with_page(
    mut report: Report,
    process: &dyn Process,
    snapshot: &Snapshot,
    page: Page,
    notes: &mut Notes,
) -> Result<Report, Error> {
    let chunk = process.read(page.since, page.max_bytes)?;
    let shown = toolhost_view::page(&chunk.data, !chunk.end);
    let cursor = chunk.offset + shown.used as u64;
    report.output = shown.text;
    report.cursor = Some(cursor);
    report.gap_bytes = chunk.offset.checked_sub(page.since).filter(|gap| *gap > 0);
    // What a running process writes meanwhile is found by the next call. So is a character that has only begun.
    if shown.used > 0 && cursor < snapshot.total.min(chunk.total) {
        notes.add(notes::more_output(cursor));
    }
    Ok(report)
}

#[cfg(test)]
mod tests;
