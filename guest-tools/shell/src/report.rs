//! The replies of `execute` and `process_output`: the state of a process, and its output.

use schemars::JsonSchema;
use serde::Serialize;
use toolhost_sdk::processes::{Cause, ExitStatus, Process, Saved, Screen, Snapshot, State};
use toolhost_view::{Truncation, View, Windows};

use crate::binary::Binary;
use crate::git;
use crate::notes::{self, Notes, Rank};
use crate::ports::Port;

/// The reply. What does not apply is left out.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// Whether the command, or the request about it, went well.
    pub(crate) success: bool,
    /// Standard output and standard error, in the order in which they were written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) output: String,
    /// The exit code; -1 if a signal ended the command, it did not start, or its timeout was over first; 0 if it was started in the
    /// background. A look at a command that runs has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    /// How long the call took, for a foreground command; else 0.
    pub(crate) wall_duration_ms: u64,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What the output leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) truncated: Option<Truncated>,
    /// What the terminal shows, if the command has one and runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) screen: Option<ScreenReport>,
    /// Instead of the output: the bytes in base64, as asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base64: Option<String>,
    /// Instead of the output, if that is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) binary: Option<Binary>,
    /// How many stretches of the output were no UTF-8 and are shown as U+FFFD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encoding_errors: Option<u64>,
    /// What to do next, one sentence or two per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// The id that process_output and process_signal take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) background_process_id: Option<String>,
    /// The command as it was run, cut at 2 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The shell of the command: bash, or sh for a POSIX shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shell: Option<&'static str>,
    /// Whether the shell still runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running: Option<bool>,
    /// Whether the command was started in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backgrounded: Option<bool>,
    /// Where the process stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
    /// The name of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<String>,
    /// What ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<&'static str>,
    /// Whether the timeout was over first.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) timed_out: bool,
    /// Whether the call was cancelled first.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) cancelled: bool,
    /// The byte offset into the output right after what was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) match_end: Option<u64>,
    /// The byte offset into the output at which this reply ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<u64>,
    /// How many bytes after the cursor asked for are no longer kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gap_bytes: Option<u64>,
    /// Processes that outlive the shell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) survivors: Vec<Survivor>,
    /// The id of the notice that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<String>,
    /// The ports on which it listens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ports: Vec<Port>,
    /// The processes of process_ids, in that order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) processes: Vec<Standing>,
}

/// One of several processes, with the beginning and the end of its output.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Standing {
    pub(crate) process_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) truncated: Option<Truncated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) binary: Option<Binary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Standing {
    /// Makes one of what is known of a process.
    pub(crate) fn of(process_id: &str, report: Report) -> Self {
        Self {
            process_id: process_id.to_owned(),
            command: report.command,
            status: report.status,
            exit_code: report.exit_code,
            signal: report.signal,
            output: report.output,
            truncated: report.truncated,
            binary: report.binary,
            note: report.note,
            error: report.error,
        }
    }
}

/// Where a process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// The shell runs.
    Running,
    /// The shell has exited, and something that it started has not.
    Lingering,
    /// Nothing of it is left.
    Exited,
    /// It never ran.
    FailedToStart,
    /// The host stopped while it ran.
    Lost,
}

/// What the output leaves out, in bytes of the raw output.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Truncated {
    original_bytes: u64,
    retained_bytes: u64,
    omitted_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted_lines: Option<u64>,
    /// How many of the lines that are shown lost their middle.
    clipped_lines: u64,
    strategy: &'static str,
    /// Whether process_output with `since` can read the rest.
    saved: bool,
}

/// What the terminal of a command shows.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ScreenReport {
    /// Its rows, as lines. Empty ones at the end are left out.
    pub(crate) text: String,
    /// The row of the cursor, from 1; missing if it is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor_row: Option<u16>,
    /// The column of the cursor, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor_column: Option<u16>,
    /// Its title, if a program gave it one.
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    /// Whether a program uses all of it, such as an editor.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) full: bool,
}

impl ScreenReport {
    fn of(screen: &Screen) -> Self {
        Self {
            text: screen.text.clone(),
            cursor_row: screen.cursor.map(|(row, _)| row),
            cursor_column: screen.cursor.map(|(_, column)| column),
            title: screen.title.clone(),
            full: screen.alternate,
        }
    }
}

/// A process that outlives the shell that started it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Survivor {
    pid: u32,
    command: String,
}

impl Report {
    /// Reports a request that failed before anything is known of a process.
    pub(crate) fn failed(error: String) -> Self {
        Self {
            exit_code: Some(-1),
            error: Some(error),
            ..Self::default()
        }
    }

    /// Reports how a process stands. It is a success if the shell has exited with 0.
    pub(crate) fn of_state(state: &State) -> Self {
        let (status, exit) = match state {
            State::Running => (Status::Running, None),
            State::Lingering(exit) => (Status::Lingering, Some(exit)),
            State::Exited(exit) => (Status::Exited, Some(exit)),
            State::Lost(_) => (Status::Lost, None),
        };
        let error = match state {
            State::Lost(text) => Some(format!("the process was lost: {text}")),
            _ => exit.and_then(failure),
        };
        Self {
            success: exit.is_some_and(|exit| exit.code == Some(0)),
            exit_code: (status != Status::Running)
                .then(|| exit.and_then(|exit| exit.code).unwrap_or(-1)),
            error,
            running: Some(status == Status::Running),
            status: Some(status),
            signal: exit.and_then(|exit| exit.signal.clone()),
            cause: exit.map(|exit| name_of(exit.cause)),
            ..Self::default()
        }
    }

    /// Reports how a process stands, and with what it printed.
    pub(crate) fn of(snapshot: &Snapshot, id: &str, notes: &mut Notes) -> Self {
        let mut report = Self::of_state(&snapshot.state);
        if report.status == Some(Status::Lingering) {
            match git::is_tidying(&snapshot.survivors) {
                true => notes.add(Rank::Running, notes::GIT_TIDIES),
                false => notes.add(Rank::Running, notes::lingering(id)),
            }
            report.background_process_id = Some(id.to_owned());
        }
        let survivors = snapshot.survivors.iter();
        report.survivors = survivors
            .map(|one| Survivor {
                pid: one.pid,
                command: one.command.clone(),
            })
            .collect();
        // Of a command that has ended, the output says the same.
        let is_running = snapshot.state == State::Running;
        let screen = snapshot.screen.as_ref().filter(|_| is_running);
        report.screen = screen.map(ScreenReport::of);
        if !snapshot.denials.is_empty() {
            notes.add(Rank::Cause, notes::denied(&snapshot.denials));
        }
        report.cursor = Some(snapshot.total);
        report
    }

    /// Adds what a process printed, as far as a model is shown it: at most `cap` bytes.
    pub(crate) fn with_output(
        mut self,
        process: &dyn Process,
        snapshot: &Snapshot,
        cap: usize,
        notes: &mut Notes,
    ) -> Self {
        let id = process.id();
        if let Saved::Failed(why) = &snapshot.saved {
            notes.add(Rank::Output, notes::not_saved(why));
        }
        if snapshot.total > 0 && snapshot.head.is_empty() && snapshot.tail.is_empty() {
            notes.add(Rank::Output, notes::NO_LONGER_KEPT);
        }
        let windows = complete(snapshot);
        self.cursor = Some(windows.total);
        let View {
            text,
            is_binary,
            encoding_errors,
            escaped,
            truncation,
        } = toolhost_view::render(windows, cap);
        if is_binary {
            notes.add(Rank::Output, notes::binary(&id));
            self.binary = Some(Binary::of(process, snapshot));
        }
        if escaped > 0 {
            notes.add(Rank::Output, notes::escaped(escaped));
        }
        self.output = text;
        self.encoding_errors = Some(encoding_errors).filter(|count| *count > 0);
        self.truncated =
            truncation.map(|truncation| self.truncated(&truncation, &id, snapshot, notes));
        self
    }

    fn truncated(
        &mut self,
        truncation: &Truncation,
        id: &str,
        snapshot: &Snapshot,
        notes: &mut Notes,
    ) -> Truncated {
        let saved = match &snapshot.saved {
            Saved::Complete => true,
            Saved::Partial(bytes) => *bytes > truncation.omitted_from,
            Saved::None | Saved::Failed(_) => false,
        };
        // Saved output goes with the call where the process does.
        let is_readable = saved && !notes::ends_with_call();
        if saved {
            notes.add(
                Rank::Output,
                notes::omitted(id, truncation.omitted_from, truncation.omitted_bytes),
            );
        }
        if is_readable {
            self.background_process_id = Some(id.to_owned());
        }
        Truncated {
            original_bytes: truncation.original_bytes,
            retained_bytes: truncation.retained_bytes,
            omitted_bytes: truncation.omitted_bytes,
            omitted_lines: truncation.omitted_lines,
            clipped_lines: truncation.clipped_lines,
            strategy: truncation.strategy,
            saved: is_readable,
        }
    }

    /// Returns whether a program uses the whole screen, which then stands for its output.
    pub(crate) fn is_drawn(&self) -> bool {
        self.screen.as_ref().is_some_and(|screen| screen.full)
    }

    /// Returns whether the command ended by itself, with an exit code that tells of a failure.
    pub(crate) fn has_failed(&self) -> bool {
        self.cause == Some(name_of(Cause::Itself)) && self.exit_code.is_some_and(|code| code > 0)
    }

    /// Adds what there is to know about an end that the shell tells only by its exit code.
    pub(crate) fn explain(&self, notes: &mut Notes) {
        if self.cause == Some(name_of(Cause::Itself))
            && self.signal.is_none()
            && let Some(note) = self.exit_code.and_then(notes::killed)
        {
            notes.add(Rank::Cause, note);
        }
    }
}

/// Returns the ends of an output without what is still being written: a character or a control sequence of which more comes.
fn complete(snapshot: &Snapshot) -> Windows<'_> {
    let (mut head, mut tail) = (snapshot.head.as_slice(), snapshot.tail.as_slice());
    let live = matches!(snapshot.state, State::Running | State::Lingering(_));
    let last = if tail.is_empty() {
        &mut head
    } else {
        &mut tail
    };
    let cut = if live {
        toolhost_view::incomplete(last)
    } else {
        0
    };
    *last = last.get(..last.len() - cut).unwrap_or_default();
    Windows {
        head,
        tail,
        total: snapshot.total.saturating_sub(cut as u64),
    }
}

/// Says what is unusual about an end. An exit code speaks for itself.
fn failure(exit: &ExitStatus) -> Option<String> {
    let reason = match exit.cause {
        Cause::OutputLimit => Some("it wrote more output than the host allows"),
        Cause::OutOfMemory => Some("there was not enough memory"),
        Cause::Shutdown => Some("the host or the chat ended"),
        Cause::Cancelled => Some("the call that started it was cancelled"),
        Cause::Itself | Cause::Signalled => None,
    };
    match (&exit.signal, reason) {
        (Some(signal), None) => Some(format!("killed by {signal}")),
        (Some(signal), Some(reason)) => Some(format!("killed by {signal}: {reason}")),
        (None, Some(reason)) => Some(format!("ended early: {reason}")),
        (None, None) => None,
    }
}

fn name_of(cause: Cause) -> &'static str {
    match cause {
        Cause::Itself => "itself",
        Cause::Signalled => "signalled",
        Cause::OutputLimit => "output_limit",
        Cause::OutOfMemory => "out_of_memory",
        Cause::Shutdown => "shutdown",
        Cause::Cancelled => "cancelled",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}
