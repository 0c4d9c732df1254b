//! A command that is waited for.

use std::time::{Duration, Instant};

use toolhost_sdk::context;
use toolhost_sdk::processes::{
    Cause, Error, Process, Processes, Shell, State, WaitOptions, Waited, Wake,
};

use toolhost_view::CAP;

use crate::background::{self, Ampersand};
use crate::bash;
use crate::environment;
use crate::git;
use crate::kill;
use crate::notes::{self, Notes, Rank};
use crate::notify::Notify;
use crate::report::{Report, Status};
use crate::{duration, file_dump, prompt, settle, wait};

/// What is said of a process that the chat had, and has no more.
const CHAT_ENDED: &str = "the chat was ended, and the command and its output with it";

/// The most live processes that are looked at: as many as a chat has, unless the operator allows more.
const MOST_LIVE: u32 = 32;

/// Waits for a process that was started a moment ago, and reports what came of it. Only a cancellation ends it, which is the
/// host's to do. A process that takes input is waited for until it waits for that itself.
pub(crate) fn report(
    (processes, process): (&dyn Processes, &dyn Process),
    (command, shell): (&str, Shell),
    (mut notes, takes_input, notify): (Notes, bool, Option<&Notify>),
    timeout: Duration,
    begin: Instant,
) -> Report {
    let id = process.id();
    let waited = match takes_input {
        true => settle::settled(process, (0, true), timeout, begin),
        false => wait::wait(process, &WaitOptions::at_most(timeout), begin),
    };
    let snapshot = match process.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => return without_output(&id, &waited, &error, (timeout, begin)),
    };
    let mut report = Report::of(&snapshot, &id, &mut notes);
    if matches!(&waited, Ok(waited) if waited.wake == Wake::Cancelled) {
        cancelled(&mut report, &snapshot.state, &id, begin.elapsed());
    } else if snapshot.state == State::Running && takes_input {
        report.background_process_id = Some(id.clone());
        (report.success, report.exit_code) = (true, None);
        notes.add(Rank::Running, notes::takes_input(&id));
    } else if snapshot.state == State::Running {
        report.background_process_id = Some(id.clone());
        still_running(&mut report, &id, waited, (timeout, begin), &mut notes);
    }
    // The output of a program that uses the whole screen draws that.
    let mut report = match takes_input && report.is_drawn() {
        true => report,
        false => report.with_output(process, &snapshot, CAP, &mut notes),
    };
    report.explain(&mut notes);
    if report.timed_out && prompt::is_prompt(&report.output) {
        notes.add(Rank::Cause, notes::PROMPT);
    }
    let has_asked = match report.success {
        true => prompt::has_asked(&report.output),
        false => report.has_failed() && prompt::found_no_input(&report.output),
    };
    if has_asked && !takes_input {
        notes.add(Rank::Cause, notes::NO_INPUT);
    }
    if !report.success && !takes_input && prompt::found_no_terminal(&report.output) {
        notes.add(Rank::Cause, notes::TERMINAL);
    }
    if let Some(advice) = git::advice(&report.output).filter(|_| report.has_failed()) {
        notes.add(Rank::Cause, advice);
    }
    if shell == Shell::Sh && bash::is_missed(command, &report.output) {
        notes.add(Rank::Cause, notes::BASH);
    }
    if kill::was_refused(command, &report.output) {
        let live = processes.list(true, MOST_LIVE);
        let live = live.map(|(live, _)| live).unwrap_or_default();
        let meant = kill::meant(command, live);
        notes.add(Rank::Cause, notes::of_another_command(&meant));
    }
    if report.status == Some(Status::Lingering)
        && matches!(
            background::classify(command, shell),
            Ampersand::Interior | Ampersand::Nested
        )
        // Who did not mean to write one needs no advice about it.
        && background::split_url(command, shell).is_none()
    {
        notes.add(Rank::Advice, notes::AMPERSAND);
    }
    if report.success && environment::is_all(command, shell) {
        notes.add(Rank::Advice, notes::NEW_SHELL);
    }
    let root = context::workspace_root();
    if report.success && report.binary.is_none() && file_dump::is_file_dump(command, shell, &root) {
        notes.add(Rank::Advice, notes::FILE_DUMP);
    }
    if let Some(notify) = notify {
        notify.ask(process, snapshot.total, &mut report, &mut notes);
    }
    report.note = notes.join();
    report
}

/// Says why the command is not waited for any longer.
fn still_running(
    report: &mut Report,
    id: &str,
    waited: Result<Waited, Error>,
    (timeout, begin): (Duration, Instant),
    notes: &mut Notes,
) {
    // All but one of these are failures.
    report.exit_code = Some(-1);
    match waited.map(|waited| waited.wake) {
        Ok(Wake::Clamped) => {
            // It has neither failed nor ended well.
            (report.success, report.exit_code) = (true, None);
            notes.add(Rank::Running, notes::clamped(id));
        }
        Err(error) if begin.elapsed() < timeout => {
            report.error = Some(format!(
                "get process output: {error} (process still running, use process_output to check later)"
            ));
        }
        Ok(_) | Err(_) => {
            report.timed_out = true;
            report.error = Some(format!(
                "command timed out after {}",
                duration::format(timeout)
            ));
            notes.add(Rank::Running, notes::timed_out(id));
        }
    }
}

/// Says that the call was cancelled, and how its command ended with it. A command that had ended by itself did so.
fn cancelled(report: &mut Report, state: &State, id: &str, elapsed: Duration) {
    report.cancelled = true;
    let how = match state {
        State::Exited(exit) if exit.cause == Cause::Itself => return,
        State::Lost(_) => return,
        State::Exited(exit) => match (&exit.signal, exit.code) {
            (Some(signal), _) => format!("and {signal} ended the command"),
            (None, code) => format!(
                "and the command ended with exit code {}",
                code.unwrap_or(-1)
            ),
        },
        State::Running | State::Lingering(_) => {
            report.background_process_id = Some(id.to_owned());
            "but the command could not be killed and still runs".to_owned()
        }
    };
    (report.success, report.exit_code) = (false, Some(-1));
    report.error = Some(format!(
        "the call was cancelled, {how} after {}",
        duration::format(duration::rounded(elapsed))
    ));
}

/// Reports a process whose output cannot be read, with what the wait said about it.
fn without_output(
    id: &str,
    waited: &Result<Waited, Error>,
    error: &Error,
    (timeout, begin): (Duration, Instant),
) -> Report {
    let mut report = Report {
        exit_code: Some(-1),
        ..Report::default()
    };
    let mut reason = error;
    match waited {
        Ok(Waited {
            wake: Wake::TimedOut,
            ..
        }) => report.timed_out = true,
        Ok(Waited {
            wake: Wake::Cancelled,
            ..
        }) => report.cancelled = true,
        Ok(waited) if waited.state != State::Running => report = Report::of_state(&waited.state),
        Ok(_) => {}
        // The first error says more than the second.
        Err(first) => {
            reason = first;
            report.timed_out = begin.elapsed() >= timeout;
        }
    }
    report.success = false;
    if *reason == Error::NotFound {
        report.error = Some(CHAT_ENDED.to_owned());
        return report;
    }
    report.error = Some(if report.timed_out {
        format!(
            "command timed out after {}; failed to get output: {reason}",
            duration::format(timeout)
        )
    } else {
        format!("get process output: {reason}; use process_output with ID {id} to retry")
    });
    report.background_process_id = Some(id.to_owned());
    report
}
