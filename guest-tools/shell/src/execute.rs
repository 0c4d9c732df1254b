//! `execute`: runs a command, and replies when it has ended or its timeout is over.

mod foreground;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::processes::{
    Error, Host, Process, Processes, Shell, StartOptions, State, Stdin, TerminalSize, WaitOptions,
};
use toolhost_sdk::{Call, Example, Reply, Schema, Tool, ToolError, context, paths};

use crate::duration::{self, Argument, Parsed};
use crate::notes::{self, Notes, Rank};
use crate::notify::Notify;
use crate::process_output::{self, Look};
use crate::report::{Report, Status};
use crate::several::{self, WaitFor, Waited};
use crate::{background, clip, invalid, ports, start_error, wait};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_TIMEOUT: Duration = Duration::from_hours(1);

/// How long to wait until a server listens.
const SERVER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a command with a trailing `&` is looked at, so that the reply tells of one that ends at once.
const LOOK: Duration = Duration::from_millis(100);

/// How much of the command is in the reply, in bytes.
const MAX_COMMAND: usize = 2048;

/// How much of it is in a note, in bytes.
const MAX_QUOTE: usize = 80;

/// The tool.
#[derive(Debug)]
pub(crate) struct Execute;

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The command.
    #[serde(default, alias = "cmd")]
    #[schemars(!default)]
    command: String,
    /// What this is for, as a short phrase that begins with a verb in -ing, such as "checking the test results". People
    /// see it alongside the command, followed by how long it took, so do not repeat the command or give a duration.
    /// Plain English, under 100 characters.
    #[expect(dead_code, reason = "it is for people; the host passes it on")]
    model_intent: Option<String>,
    /// How long to wait for the command to end, such as "30s", "5m" or "1m30s". Default "10s", at most "1h". A command
    /// that takes longer keeps running: the reply then has its output so far and a background_process_id.
    #[schemars(with = "Option<String>")]
    timeout: Option<Argument>,
    /// The same in milliseconds, as other tools have it. Models are not told of it.
    #[schemars(skip)]
    timeout_ms: Option<Argument>,
    /// The directory to run in, absolute or relative to the workspace directory. Default: the workspace directory.
    #[serde(alias = "cwd")]
    workdir: Option<String>,
    /// Start the command and reply at once, without its output. For watchers, or to do other work meanwhile;
    /// for commands whose result you need, prefer foreground with a longer timeout. Use this parameter instead of shell
    /// '&', which leaves an untracked process that process_output cannot read.
    run_in_background: Option<bool>,
    /// The command is a server, such as "npm run dev". It runs in the background, and the reply comes when it listens on a TCP port, at the
    /// latest after the timeout (here default "30s"), with its output so far and ports: each with the url at which the user can open it.
    server: Option<bool>,
    /// Run the command in a terminal of 24 rows and 80 columns: for programs that ask, draw or want one, such as python3, gdb, vim, npm init
    /// or ssh-keygen. Type with process_input. The reply comes when the program is silent as if it waited for input, at the latest after
    /// the timeout, and has the screen.
    terminal: Option<bool>,
    /// Keep standard input open without a terminal, so that process_input can write to it. Without this it is empty.
    keep_input_open: Option<bool>,
    /// If the command still runs when this replies, have the chat told of its end, or of output that matches a pattern, instead of asking
    /// again and again: {"on": "exit"} or {"on": "output", "pattern": "ready|error"}.
    notify: Option<Notify>,
    /// Wait in this call, also with run_in_background, until these processes (background_process_id, up to 16) have ended, at most 1h, and
    /// then start the command, whatever their exit codes. The timeout counts from then on.
    after: Option<Vec<String>>,
}

impl Tool for Execute {
    const NAME: &'static str = "execute";
    const TITLE: Option<&'static str> = Some("Run a command");
    const DESCRIPTION: &'static str = "Run a shell command in the workspace and return its output and exit code. Runs \
        in {{shell}}, without a terminal and without standard input unless asked for. Each command runs in a new shell: a cd and \
        variables do not last, so use workdir. Keep files for the user and for other tools in the workspace: ~ and /tmp may be private to \
        commands.\n\
        The reply comes when the command ends, or when the timeout (default 10s) is over. At the timeout the command is \
        not killed: it keeps running, and the reply has its output so far and a background_process_id for process_output \
        and process_signal.\n\
        For commands whose result you need, such as builds and tests, prefer foreground with a longer timeout. Use \
        server for a program that listens on a port, run_in_background for watchers, never shell '&'.\n\
        Long output is shortened in the middle; its beginning and its end are always there.";
    // An hour to wait, and time to start and to reply.
    const MAX_DURATION: Option<Duration> = Some(MAX_TIMEOUT.saturating_add(Duration::from_mins(1)));
    const EXAMPLES: &'static [Example] = &[Example {
        name: "print a line",
        arguments: r#"{"command": "echo hello"}"#,
        is_error: false,
    }];
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
    if arguments.command.is_empty() {
        return Err(invalid("command is required"));
    }
    let is_server = arguments.server.unwrap_or(false);
    let asked_for_background = is_server || arguments.run_in_background.unwrap_or(false);
    let shell = processes.shell();
    let promoted = match &shell {
        Ok(shell) if !asked_for_background => background::promote(&arguments.command, *shell),
        _ => None,
    };
    let is_promoted = promoted.is_some();
    let in_background = asked_for_background || is_promoted;
    // The timeout of a background command means nothing, whatever it is.
    let timeout = if in_background && !is_server {
        Duration::ZERO
    } else {
        let argument = duration::one_of(
            ("timeout", arguments.timeout),
            ("timeout_ms", arguments.timeout_ms),
        )?;
        let default = if is_server {
            SERVER_TIMEOUT
        } else {
            DEFAULT_TIMEOUT
        };
        timeout(argument.as_ref(), default)?
    };

    let workdir = arguments.workdir.filter(|workdir| !workdir.is_empty());
    let workdir = workdir.map(|workdir| paths::understand(&workdir).map(Cow::into_owned));
    let workdir = workdir
        .transpose()
        .map_err(|text| invalid(format!("workdir {text}")))?;

    let shell = match shell {
        Ok(shell) => shell,
        Err(error) => return Ok(not_started(&error, in_background)),
    };
    let notify = arguments.notify;
    if let Some(notify) = &notify {
        notify.check()?;
    }
    let after = arguments.after.unwrap_or_default();
    let after = several::checked("after", &after)?;
    if let Some(report) = held_up(processes, &after) {
        return Ok(report);
    }
    let stdin = match (arguments.terminal, arguments.keep_input_open) {
        (Some(true), _) => Stdin::Terminal(TerminalSize::default()),
        (_, Some(true)) => Stdin::Pipe,
        _ => Stdin::None,
    };
    let takes_input = stdin != Stdin::None;
    let begin = Instant::now();
    let command = promoted.unwrap_or(arguments.command);
    let started = processes.start(StartOptions {
        command: command.clone(),
        workdir,
        background: in_background,
        stdin,
        ..StartOptions::default()
    });
    let mut notes = Notes::default();
    if let Some(rest) = background::split_url(&command, shell) {
        let rest = clip(rest.to_owned(), MAX_QUOTE);
        notes.add(Rank::Surprise, notes::split(&rest));
    }
    let report = match started {
        Err(error) => not_started(&error, in_background),
        Ok(process) if is_server => Report {
            background_process_id: Some(process.id()),
            ..listening(process.as_ref(), notify.as_ref(), timeout, begin)
        },
        Ok(process) if in_background && !(is_promoted && ends_at_once(process.as_ref())) => {
            if is_promoted {
                notes.add(Rank::Surprise, notes::promoted(&process.id()));
            }
            started_in_background(process.as_ref(), notify.as_ref(), notes)
        }
        Ok(process) => {
            if is_promoted {
                notes.add(Rank::Surprise, notes::ENDED_AT_ONCE);
            }
            let report = foreground::report(
                (processes, process.as_ref()),
                (&command, shell),
                (notes, takes_input, notify.as_ref()),
                timeout,
                begin,
            );
            Report {
                wall_duration_ms: milliseconds(begin.elapsed()),
                ..report
            }
        }
    };
    Ok(Report {
        command: Some(clip(command, MAX_COMMAND)),
        shell: Some(match shell {
            Shell::Bash => "bash",
            Shell::Sh => "sh",
        }),
        backgrounded: Some(in_background),
        ..report
    })
}

/// Returns whether nothing of a background process is left a moment after its start.
fn ends_at_once(process: &dyn Process) -> bool {
    let waited = wait::wait(process, &WaitOptions::at_most(LOOK), Instant::now());
    waited.is_ok_and(|waited| matches!(waited.state, State::Exited(_) | State::Lost(_)))
}

fn timeout(argument: Option<&Argument>, default: Duration) -> Result<Duration, ToolError> {
    let Some(text) = argument else {
        return Ok(default);
    };
    match text.parse() {
        Ok(Parsed::Positive(timeout)) if timeout <= MAX_TIMEOUT => Ok(timeout),
        Ok(Parsed::Positive(_)) => Err(invalid(format!(
            "invalid timeout \"{text}\": {}",
            text.in_milliseconds(MAX_TIMEOUT).unwrap_or_else(|| {
                "it must be at most 1h. To run a command for longer, set run_in_background: true, and wait with process_output"
                    .to_owned()
            })
        ))),
        Ok(Parsed::NotPositive) => Err(invalid(format!(
            "invalid timeout \"{text}\": it must be more than 0s. To reply at once, set run_in_background: true, and read \
             the output with process_output"
        ))),
        Err(reason) => Err(invalid(format!("invalid timeout \"{text}\": {reason}"))),
    }
}

fn not_started(error: &Error, in_background: bool) -> Report {
    let what = if in_background {
        "start background process"
    } else {
        "start process"
    };
    let report = Report {
        cancelled: context::cancelled(),
        ..Report::failed(format!("{what}: {}", start_error::describe(error)))
    };
    match error {
        // Whether it runs, nobody knows.
        Error::UnknownOutcome(_) => report,
        _ => Report {
            running: Some(false),
            status: Some(Status::FailedToStart),
            ..report
        },
    }
}

fn started_in_background(
    process: &dyn Process,
    notify: Option<&Notify>,
    mut notes: Notes,
) -> Report {
    let mut report = Report {
        success: true,
        // As the reference has it: the start went well.
        exit_code: Some(0),
        background_process_id: Some(process.id()),
        cursor: Some(0),
        ..Report::of_state(&State::Running)
    };
    if let Some(notify) = notify {
        notify.ask(process, 0, &mut report, &mut notes);
    }
    report.note = notes.join();
    report
}

/// Reports a server once it listens, has ended, or the timeout is over.
fn listening(
    process: &dyn Process,
    notify: Option<&Notify>,
    timeout: Duration,
    begin: Instant,
) -> Report {
    let id = process.id();
    let ports = ports::wait(process, timeout, begin);
    let seen = ports
        .and_then(|ports| process_output::seen(process, &Look::at(&id), None, notify, Some(ports)));
    let report = seen.unwrap_or_else(|error| {
        // It may run all the same.
        Report::failed(format!("wait for the server: {error}"))
    });
    Report {
        wall_duration_ms: milliseconds(begin.elapsed()),
        ..report
    }
}

/// Waits for the end of processes after which a command is to start. Returns a report if it cannot be started.
fn held_up(processes: &dyn Processes, after: &[&str]) -> Option<Report> {
    let waited = several::wait(processes, after, WaitFor::All, MAX_TIMEOUT, Instant::now());
    let why = match waited {
        Ok(Waited::Ended) => return None,
        Ok(Waited::Cancelled) => "the call was cancelled".to_owned(),
        Ok(Waited::TimedOut | Waited::Clamped) => {
            "not all processes of after have ended, and one call cannot wait any longer".to_owned()
        }
        Err(Error::NotFound) => {
            let missing = after.iter().find(|id| processes.open(id).is_err());
            notes::not_found(missing.copied().unwrap_or_default())
        }
        Err(error) => format!("wait for the processes of after: {error}"),
    };
    Some(Report {
        cancelled: context::cancelled(),
        running: Some(false),
        status: Some(Status::FailedToStart),
        ..Report::failed(format!("the command was not started: {why}"))
    })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
