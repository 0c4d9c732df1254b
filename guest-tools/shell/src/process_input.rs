//! `process_input`: types into a process, and tells what comes of it.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::processes::{Error, Host, Process, Processes, Snapshot, State, WaitOptions};
use toolhost_sdk::{Call, Hints, Reply, Schema, Tool, ToolError};

use crate::duration::{self, Argument};
use crate::keys::{self, Unknown};
use crate::process_output::{self, Look, wait_timeout};
use crate::report::Report;
use crate::{invalid, notes, settle, wait};

/// The character that the key Esc sends.
const ESC: char = '\x1b';

/// The most keys of one call.
const MAX_KEYS: usize = 100;

/// The pause after the key Esc: with what follows at once, it would be one key, such as Alt-x.
const AFTER_ESC: Duration = Duration::from_millis(100);

/// The most bytes of output in the reply.
const MAX_BYTES: u32 = 32 * 1024;

/// The tool.
#[derive(Debug)]
pub(crate) struct ProcessInput;

/// The arguments of the model.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The background_process_id of execute's reply, or an id of process_list.
    #[serde(default, alias = "background_process_id", alias = "id")]
    #[schemars(!default)]
    process_id: String,
    /// The text to type, as it is: it ends with "\n" if the program reads lines.
    #[serde(alias = "input")]
    text: Option<String>,
    /// Keys to press after the text, in order, such as ["enter"], ["ctrl-c"], ["esc", ":", "w", "enter"] or ["up", "up"]. A key is a
    /// single character, or one of: enter, tab, shift-tab, esc, space, backspace, delete, insert, up, down, left, right, home, end, page-up,
    /// page-down, f1 to f12, ctrl-LETTER, alt-LETTER.
    keys: Option<Vec<String>>,
    /// End the input after that: the program reads the end of its standard input. In a terminal, this presses Ctrl-D.
    close: Option<bool>,
    /// How long to wait at most, such as "30s" or "5m". Default "10s". Without until, the reply comes as soon as the program has printed
    /// nothing for half a second. "0s" replies at once.
    #[serde(alias = "timeout")]
    #[schemars(with = "Option<String>")]
    wait_timeout: Option<Argument>,
    /// Wait until the output after this input matches this regular expression, such as "\\$ $|error". What a terminal echoes is output as
    /// well.
    until: Option<String>,
    /// Why you type this, as a short phrase such as "answering the installer". People see it in place of the text. Plain English, under
    /// 100 characters.
    #[expect(dead_code, reason = "it is for people; the host passes it on")]
    model_intent: Option<String>,
}

impl Tool for ProcessInput {
    const NAME: &'static str = "process_input";
    const TITLE: Option<&'static str> = Some("Type into a process");
    const DESCRIPTION: &'static str = "Type text and press keys in a process that execute started with terminal=true or \
        keep_input_open=true: answer its questions, give it commands, or work in an editor. The reply has what the process printed \
        after that and, of a terminal, its screen.\n\
        Nothing is typed twice: if a reply is lost, look with process_output before you type again.";
    const HINTS: Hints = Hints {
        closed_world: true,
        ..Hints::NONE
    };
    const MAX_DURATION: Option<Duration> = Some(process_output::MAX_DURATION);
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Report>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        Reply::json(&run(&Host, arguments)?)
    }
}

/// Runs one call.
///
/// # Errors
///
/// An argument is not valid. Everything else is reported.
pub(crate) fn run(processes: &dyn Processes, arguments: Arguments) -> Result<Report, ToolError> {
    let id = arguments.process_id.as_str();
    if id.is_empty() {
        return Err(invalid("process_id is required"));
    }
    let text = arguments.text.unwrap_or_default();
    let keys = arguments.keys.unwrap_or_default();
    let close = arguments.close.unwrap_or_default();
    if text.is_empty() && keys.is_empty() && !close {
        // Models that fill in every argument send nulls, which are no mistake of their form.
        return Ok(Report::failed(
            "nothing was typed: it takes text, keys or close; process_output waits without input"
                .to_owned(),
        ));
    }
    if keys.len() > MAX_KEYS {
        return Err(invalid(format!(
            "keys has at most {MAX_KEYS} keys: use text"
        )));
    }
    let timeout = duration::given(arguments.wait_timeout);
    let timeout = wait_timeout(timeout.as_ref())?;
    // Models fill in what they do not need.
    let until = arguments.until.filter(|until| !until.is_empty());
    let asked = processes.open(id).and_then(|process| {
        let before = process.snapshot()?;
        Ok((process, before))
    });
    let (process, before) = match asked {
        Ok(asked) => asked,
        Err(error) => return Ok(failed(id, &error)),
    };
    if !before.takes_input {
        return Ok(Report {
            error: Some(match before.state {
                State::Running | State::Lingering(_) => notes::NO_OPEN_INPUT.to_owned(),
                State::Exited(_) | State::Lost(_) => notes::HAS_ENDED.to_owned(),
            }),
            success: false,
            ..Report::of_state(&before.state)
        });
    }
    let typed = bytes(&text, &keys, &before)?;
    let begin = Instant::now();
    if let Err(error) = write(process.as_ref(), &typed, close) {
        return Ok(failed(id, &error));
    }
    let waited = if timeout.is_zero() {
        None
    } else if let Some(until) = &until {
        let options = WaitOptions {
            timeout,
            since: before.total,
            until: Some(until.clone()),
            ..WaitOptions::default()
        };
        Some(wait::wait(process.as_ref(), &options, begin))
    } else {
        let from = (before.total, false);
        Some(settle::settled(process.as_ref(), from, timeout, begin))
    };
    let look = Look {
        id,
        since: Some(before.total),
        max_bytes: MAX_BYTES,
        base64: false,
        is_input: true,
    };
    let report = process_output::seen(process.as_ref(), &look, waited, None, None);
    match (report, until) {
        (Ok(report), _) => Ok(report),
        (Err(Error::Invalid(reason)), Some(until)) => Ok(Report::failed(format!(
            "invalid until \"{until}\": {reason}. The input was written."
        ))),
        (Err(error), _) => Ok(failed(id, &error)),
    }
}

/// Returns what stands for a text and keys, in parts: one ends behind each Esc.
fn bytes(text: &str, keys: &[String], before: &Snapshot) -> Result<Vec<String>, ToolError> {
    let screen = before.screen.as_ref();
    // The key Enter sends a carriage return, and programs in a terminal expect that.
    let mut typed = match screen {
        Some(_) => text.replace("\r\n", "\r").replace('\n', "\r"),
        None => text.to_owned(),
    };
    let mut parts = Vec::new();
    for key in keys {
        if typed.ends_with(ESC) {
            parts.push(std::mem::take(&mut typed));
        }
        let mut letters = key.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            typed.push(if letter == '\n' && screen.is_some() {
                '\r'
            } else {
                letter
            });
            continue;
        }
        let sent = match screen {
            Some(screen) => keys::in_terminal(key, screen.application_keys),
            None => keys::in_pipe(key),
        };
        typed.push_str(&sent.map_err(|unknown| {
            invalid(match unknown {
                Unknown::Key => format!("there is no key \"{key}\": use text for what is no key"),
                Unknown::Terminal => format!(
                    "the key \"{key}\" needs a terminal, and this process has a pipe: use text and close, or process_signal"
                ),
            })
        })?);
    }
    parts.push(typed);
    Ok(parts)
}

fn write(process: &dyn Process, parts: &[String], close: bool) -> Result<(), Error> {
    for part in parts.iter().filter(|part| !part.is_empty()) {
        process.write(part.as_bytes())?;
        if part.ends_with(ESC) {
            process.wait(&WaitOptions::at_most(AFTER_ESC))?;
        }
    }
    if close {
        process.close_input()?;
    }
    Ok(())
}

fn failed(id: &str, error: &Error) -> Report {
    match error {
        Error::NotFound => Report::failed(notes::not_found(id)),
        error => Report {
            background_process_id: Some(id.to_owned()),
            ..Report::failed(format!("write to the process: {error}"))
        },
    }
}

#[cfg(test)]
mod tests;
