//! `process_output`: what a process that was started earlier printed, and how it stands.

use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::processes::{
    Chunk, Error, Host, ListeningPort, Process, Processes, Snapshot, State, WaitOptions, Waited,
    Wake,
};
use toolhost_sdk::{Call, Hints, Reply, Schema, Tool, ToolError};

use toolhost_view::CAP;

use crate::binary::Binary;
use crate::duration::{self, Argument, Parsed};
use crate::notes::{self, Notes, Rank};
use crate::notify::Notify;
use crate::report::Report;
use crate::several::{self, WaitFor};
use crate::{invalid, ports, prompt, wait};

const DEFAULT_WAIT: Duration = Duration::from_secs(10);
const MIN_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_hours(1);
pub(crate) const MAX_DURATION: Duration = MAX_WAIT.saturating_add(Duration::from_mins(1));
const DEFAULT_MAX_BYTES: u32 = 32 * 1024;
const MIN_MAX_BYTES: u32 = 256;
/// As JSON, each of these bytes can become six.
const MAX_MAX_BYTES: u32 = 128 * 1024;

/// The tool.
#[derive(Debug)]
pub(crate) struct ProcessOutput;

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The background_process_id of execute's reply. Pass this or process_ids.
    #[serde(alias = "background_process_id", alias = "id")]
    process_id: Option<String>,
    /// How long to wait for the process to end, such as "30s" or "5m"; with since, for more output; with until, for that.
    /// Default "10s". "0s" looks and replies at once.
    #[serde(alias = "timeout")]
    #[schemars(with = "Option<String>")]
    wait_timeout: Option<Argument>,
    /// The same in milliseconds, as other tools have it. Models are not told of it.
    #[serde(alias = "timeout_ms")]
    #[schemars(skip)]
    wait_timeout_ms: Option<Argument>,
    /// Why you look at the process, as a short phrase such as "waiting for the server to start". People see it in place
    /// of the command. Plain English, under 100 characters.
    #[expect(dead_code, reason = "it is for people; the host passes it on")]
    model_intent: Option<String>,
    /// Reply with the output from this byte offset on only: the cursor of an earlier reply, or 0 for the beginning.
    since: Option<u64>,
    /// The most bytes of output to reply with. Default 32768.
    #[schemars(range(min = MIN_MAX_BYTES, max = MAX_MAX_BYTES))]
    max_bytes: Option<i64>,
    /// Wait no longer than until the output (with since: from there on) matches this regular expression, such as
    /// "listening on|error". The reply then has match_end, the byte offset right after the match. Classes are of ASCII: write
    /// "✓|✔" instead of "[✓✔]".
    until: Option<String>,
    /// The ids of up to 16 processes. The reply comes when one of those that run ends, and has processes: how each stands, and the beginning
    /// and the end of its output.
    process_ids: Option<Vec<String>>,
    /// With process_ids: "all" waits until each has ended. Default "any".
    wait_for: Option<WaitFor>,
    /// If the process still runs when this replies, have the chat told of its end, or of output that matches a pattern, instead of asking
    /// again and again: {"on": "exit"} or {"on": "output", "pattern": "ready|error"}.
    notify: Option<Notify>,
    /// Wait no longer than until the process listens on a TCP port, and reply with its ports: each with the url at which the user can open
    /// the server there.
    ports: Option<bool>,
    /// Reply with the bytes themselves, as base64 in place of output: since (default 0) and max_bytes say which. For output that is no
    /// text.
    base64: Option<bool>,
}

impl Tool for ProcessOutput {
    const NAME: &'static str = "process_output";
    const TITLE: Option<&'static str> = Some("Read a process's output");
    const DESCRIPTION: &'static str = "Read the output of a process that execute started in the background or that ran \
        into its timeout, and see whether it still runs. Waits for the process to end, at most wait_timeout (default \
        10s), and replies with what there is then.\n\
        Without since, the reply has the beginning and the end of all output so far. With since, it has only the output \
        from that cursor on, and a cursor to go on with: use it to follow a process, or to read what another reply \
        omitted. With until, it waits until the output matches, which is better than to ask again and again.";
    const HINTS: Hints = Hints {
        read_only: true,
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    const MAX_DURATION: Option<Duration> = Some(MAX_DURATION);
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Report>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        Reply::json(&run(&Host, arguments)?)
    }
}

/// What is asked for.
#[derive(Debug)]
struct Request<'a> {
    look: Look<'a>,
    timeout: Duration,
    until: Option<&'a str>,
    notify: Option<&'a Notify>,
    ports: bool,
}

/// What a reply shows of a process.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    pub(crate) id: &'a str,
    /// The cursor from which on the output is shown; `None`: both ends of all.
    pub(crate) since: Option<u64>,
    pub(crate) max_bytes: u32,
    pub(crate) base64: bool,
    /// Whether this is the reply to an input. Then the screen of a program that uses all of it stands for the output.
    pub(crate) is_input: bool,
}

impl<'a> Look<'a> {
    /// Returns that at both ends of the output of a process.
    pub(crate) fn at(id: &'a str) -> Self {
        Self {
            id,
            since: None,
            max_bytes: DEFAULT_MAX_BYTES,
            base64: false,
            is_input: false,
        }
    }
}

/// Runs one call.
///
/// # Errors
///
/// An argument is not valid. Everything else is reported.
pub(crate) fn run(processes: &dyn Processes, arguments: Arguments) -> Result<Report, ToolError> {
    let id = arguments.process_id.as_deref().unwrap_or_default();
    let ids = arguments.process_ids.as_deref().unwrap_or_default();
    if id.is_empty() && ids.is_empty() {
        return Err(invalid("process_id is required"));
    }
    if let Some(notify) = &arguments.notify {
        notify.check()?;
    }
    let timeout = duration::one_of(
        ("wait_timeout", arguments.wait_timeout),
        ("wait_timeout_ms", arguments.wait_timeout_ms),
    )?;
    let max_bytes = arguments
        .max_bytes
        .map_or(Ok(DEFAULT_MAX_BYTES), u32::try_from);
    let max_bytes = max_bytes
        .ok()
        .filter(|bytes| (MIN_MAX_BYTES..=MAX_MAX_BYTES).contains(bytes));
    let max_bytes = max_bytes.ok_or_else(|| {
        invalid(format!(
            "max_bytes must be between {MIN_MAX_BYTES} and {MAX_MAX_BYTES}"
        ))
    })?;
    let base64 = arguments.base64.unwrap_or_default();
    let ports = arguments.ports.unwrap_or_default();
    if !ids.is_empty() {
        let ids = several::checked("process_ids", ids)?;
        let of_one = [
            ("process_id", !id.is_empty()),
            ("since", arguments.since.is_some()),
            (
                "until",
                arguments.until.is_some_and(|until| !until.is_empty()),
            ),
            ("base64", base64),
            ("notify", arguments.notify.is_some()),
            ("ports", ports),
        ];
        if let Some((name, _)) = of_one.iter().find(|(_, is_there)| *is_there) {
            return Err(invalid(format!("pass process_ids or {name}, not both")));
        }
        let timeout = wait_timeout(timeout.as_ref())?;
        let which = arguments.wait_for.unwrap_or_default();
        let max_bytes = usize::try_from(max_bytes).unwrap_or(CAP);
        return Ok(several::report(processes, &ids, which, timeout, max_bytes));
    }
    let request = Request {
        look: Look {
            id,
            since: arguments.since.or(base64.then_some(0)),
            max_bytes,
            base64,
            is_input: false,
        },
        timeout: wait_timeout(timeout.as_ref())?,
        // Models fill in what they do not need.
        until: arguments.until.as_deref().filter(|until| !until.is_empty()),
        notify: arguments.notify.as_ref(),
        ports,
    };
    if ports && request.until.is_some() {
        return Err(invalid("pass until or ports, not both"));
    }
    match report(processes, &request) {
        Ok(report) => Ok(report),
        Err(Error::Invalid(reason)) if request.until.is_some() => Err(invalid(format!(
            "invalid until \"{}\": {reason}",
            request.until.unwrap_or_default()
        ))),
        Err(Error::NotFound) => Ok(Report::failed(format!(
            "get process output: {}",
            notes::not_found(id)
        ))),
        // It may be there all the same.
        Err(error) => Ok(Report {
            background_process_id: Some(id.to_owned()),
            ..Report::failed(format!("get process output: {error}"))
        }),
    }
}

/// Returns how long to wait. A wait that is hardly one would have a model ask again and again.
pub(crate) fn wait_timeout(argument: Option<&Argument>) -> Result<Duration, ToolError> {
    let Some(text) = argument else {
        return Ok(DEFAULT_WAIT);
    };
    if let Some(reason) = text.in_milliseconds(MAX_WAIT) {
        return Err(invalid(format!(
            "invalid wait_timeout \"{text}\": {reason}"
        )));
    }
    match text.parse() {
        Ok(Parsed::Positive(wait)) => Ok(wait.clamp(MIN_WAIT, MAX_WAIT)),
        Ok(Parsed::NotPositive) => Ok(Duration::ZERO),
        Err(reason) => Err(invalid(format!(
            "invalid wait_timeout \"{text}\": {reason}"
        ))),
    }
}

fn report(processes: &dyn Processes, request: &Request<'_>) -> Result<Report, Error> {
    let look = &request.look;
    let process = processes.open(look.id)?;
    if request.ports {
        let ports = ports::wait(process.as_ref(), request.timeout, Instant::now())?;
        return seen(process.as_ref(), look, None, request.notify, Some(ports));
    }
    let options = WaitOptions {
        timeout: request.timeout,
        since: match look.since {
            Some(since) if request.until.is_none() => since + unfinished(process.as_ref(), since)?,
            since => since.unwrap_or(0),
        },
        output: look.since.is_some() && request.until.is_none(),
        until: request.until.map(str::to_owned),
    };
    let waited = if request.timeout.is_zero() && request.until.is_none() {
        None
    } else {
        Some(wait::wait(process.as_ref(), &options, Instant::now()))
    };
    seen(process.as_ref(), look, waited, request.notify, None)
}

/// Reports how a process stands and what it printed, after a wait or without one, and its ports if they were looked for.
pub(crate) fn seen(
    process: &dyn Process,
    look: &Look<'_>,
    waited: Option<Result<Waited, Error>>,
    notify: Option<&Notify>,
    ports: Option<Vec<ListeningPort>>,
) -> Result<Report, Error> {
    if let Some(Err(Error::Invalid(reason))) = waited {
        return Err(Error::Invalid(reason));
    }
    let seen = waited.as_ref().and_then(|waited| waited.as_ref().ok());
    let wake = seen.map(|seen| seen.wake);
    let match_end = seen.and_then(|seen| seen.match_end);
    // A wait that failed says more than a look that fails after it.
    let snapshot = process.snapshot().map_err(|error| match waited {
        Some(Err(first)) => first,
        _ => error,
    })?;

    let mut notes = Notes::default();
    let mut report = Report::of(&snapshot, look.id, &mut notes);
    report.command = process.info().ok().map(|info| info.command);
    if snapshot.state == State::Running {
        report.success = true;
        if wake == Some(Wake::Clamped) {
            notes.add(Rank::Running, notes::clamped(look.id));
        } else if !look.is_input && notify.is_none() && ports.is_none() {
            notes.add(Rank::Running, notes::STILL_RUNNING);
        }
    }
    report.cancelled = wake == Some(Wake::Cancelled);
    report.match_end = match_end;
    let is_drawn = look.is_input && report.is_drawn();
    let mut report = match look.since {
        // What such a program writes draws the screen.
        _ if is_drawn => report,
        None => {
            let cap = usize::try_from(look.max_bytes).unwrap_or(CAP);
            report.with_output(process, &snapshot, cap, &mut notes)
        }
        Some(since) => {
            let page = Page {
                chunk: process.read(since, look.max_bytes)?,
                since,
                max_bytes: look.max_bytes,
                base64: look.base64,
            };
            page.shown_by(report, &snapshot, &mut notes)
        }
    };
    report.explain(&mut notes);
    if wake == Some(Wake::TimedOut)
        && snapshot.state == State::Running
        && prompt::is_prompt(&report.output)
    {
        let note = match snapshot.takes_input {
            true => notes::OPEN_PROMPT,
            false => notes::PROMPT,
        };
        notes.add(Rank::Cause, note);
    }
    if let Some(ports) = ports {
        ports::show(ports, &mut report, &mut notes);
    }
    if let Some(notify) = notify {
        let since = report.cursor.unwrap_or(snapshot.total);
        notify.ask(process, since, &mut report, &mut notes);
    }
    report.note = notes.join();
    Ok(report)
}

/// Returns how much of the output from a cursor on is a character or a control sequence that is still being written, if it is
/// no more than that: that is no output to wake up for.
fn unfinished(process: &dyn Process, since: u64) -> Result<u64, Error> {
    let chunk = process.read(since, MIN_MAX_BYTES)?;
    let unfinished = toolhost_view::incomplete(&chunk.data);
    Ok(if unfinished == chunk.data.len() && !chunk.end {
        unfinished as u64
    } else {
        0
    })
}

/// The output from a cursor on.
struct Page {
    chunk: Chunk,
    since: u64,
    max_bytes: u32,
    base64: bool,
}

impl Page {
    /// Adds it to a report.
    fn shown_by(self, mut report: Report, snapshot: &Snapshot, notes: &mut Notes) -> Report {
        let chunk = &self.chunk;
        let max = usize::try_from(self.max_bytes).unwrap_or(CAP);
        let used = if self.base64 {
            report.base64 = Some(BASE64_STANDARD.encode(&chunk.data));
            chunk.data.len()
        } else {
            self.text(&mut report, max, notes)
        };
        let cursor = chunk.offset + used as u64;
        report.cursor = Some(cursor);
        report.gap_bytes = (chunk.offset.checked_sub(self.since)).filter(|gap| *gap > 0);
        if chunk.offset < self.since {
            notes.add(Rank::Output, notes::beyond(chunk.total));
        }
        // What a running process writes meanwhile is found by the next call. So is a character that has only begun.
        let rest = chunk.data.get(used..).unwrap_or_default();
        let unfinished = chunk.data.len() < max && toolhost_view::incomplete(rest) == rest.len();
        if !unfinished && cursor < snapshot.total.min(chunk.total) {
            notes.add(Rank::Output, notes::more_output(cursor));
        }
        report
    }

    /// Adds the text, of at most so many bytes, and returns how many bytes it stands for.
    fn text(&self, report: &mut Report, max: usize, notes: &mut Notes) -> usize {
        let mut data = self.chunk.data.as_slice();
        let mut shown = toolhost_view::page(data, !self.chunk.end, max);
        // What is no UTF-8 takes more bytes as text than it had.
        while shown.text.len() > max {
            let fits = data.len() * max / shown.text.len();
            data = data.get(..fits.min(data.len() - 1)).unwrap_or_default();
            shown = toolhost_view::page(data, true, data.len());
        }
        if shown.is_binary {
            notes.add(Rank::Output, notes::binary_from(self.chunk.offset));
            report.binary = Some(Binary::stretch(shown.used));
        }
        if shown.escaped > 0 {
            notes.add(Rank::Output, notes::escaped(shown.escaped));
        }
        report.output = shown.text;
        report.encoding_errors = Some(shown.encoding_errors).filter(|count| *count > 0);
        shown.used
    }
}

#[cfg(test)]
mod tests;
