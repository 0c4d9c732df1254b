//! `process_signal`: ends a process, or tells it something.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_sdk::processes::{Error, Host, Process, Processes, Signal, State, WaitOptions};
use toolhost_sdk::{Call, Hints, Reply, Schema, Tool, ToolError};

use crate::duration::{self, Argument, Parsed};
use crate::invalid;
use crate::notes;
use crate::report::{Report, Status};

/// The signals: the name in replies, that of POSIX without `SIG`, and the number on Linux.
const SIGNALS: [(&str, &str, &str, Signal); 7] = [
    ("terminate", "TERM", "15", Signal::Terminate),
    ("kill", "KILL", "9", Signal::Kill),
    ("interrupt", "INT", "2", Signal::Interrupt),
    ("hangup", "HUP", "1", Signal::Hangup),
    ("quit", "QUIT", "3", Signal::Quit),
    ("user1", "USR1", "10", Signal::User1),
    ("user2", "USR2", "12", Signal::User2),
];

/// How long a process has to end before the reply. Most do at once, and then nobody has to ask.
const TO_END: Duration = Duration::from_millis(250);

const MAX_GRACE: Duration = Duration::from_hours(1);

/// The tool.
#[derive(Debug)]
pub(crate) struct ProcessSignal;

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The background_process_id of execute's reply, or an id of process_list.
    #[serde(default, alias = "background_process_id", alias = "id")]
    #[schemars(!default)]
    process_id: String,
    /// The signal. "terminate" asks the process to end and kills what is left after the grace; "kill" ends it at once.
    #[serde(default)]
    #[schemars(!default, extend("enum" = ["terminate", "kill", "interrupt", "hangup", "quit", "user1", "user2"]))]
    signal: String,
    /// With "terminate": how long what is asked to end has for that, such as "30s". Default "5s", at most "1h".
    #[schemars(with = "Option<String>")]
    grace: Option<Argument>,
}

impl Tool for ProcessSignal {
    const NAME: &'static str = "process_signal";
    const TITLE: Option<&'static str> = Some("Signal a process");
    const DESCRIPTION: &'static str = "Send a signal to a process that execute started, and to everything that it started \
        in turn. Use \"terminate\" to end it in an orderly way, \"kill\" if that does not help, and \"interrupt\" for what \
        Ctrl-C does; kill and pkill in a command do not reach it. A process that has already ended is no error.";
    const HINTS: Hints = Hints {
        closed_world: true,
        ..Hints::NONE
    };
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Outcome>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        Reply::json(&run(&Host, &arguments)?)
    }
}

/// The reply. What does not apply is left out.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Outcome {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    already_exited: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
}

/// Runs one call.
///
/// # Errors
///
/// An argument is not valid. Everything else is reported.
pub(crate) fn run(processes: &dyn Processes, arguments: &Arguments) -> Result<Outcome, ToolError> {
    let (id, name) = (arguments.process_id.as_str(), arguments.signal.as_str());
    if id.is_empty() {
        return Err(invalid("process_id is required"));
    }
    let Some((name, signal)) = named(name) else {
        return Err(invalid(
            "signal must be \"terminate\" or \"kill\", or else \"interrupt\", \"hangup\", \"quit\", \"user1\" or \"user2\"",
        ));
    };
    let grace = grace(duration::given(arguments.grace.clone()).as_ref(), signal)?;
    let state = processes.open(id).and_then(|process| {
        let state = process.signal(signal, grace)?;
        let after = after(process.as_ref(), signal, &state);
        Ok((state, after))
    });
    Ok(match state {
        Ok((State::Running | State::Lingering(_), after)) => {
            let report = Report::of_state(&after);
            Outcome {
                success: true,
                message: Some(format!("signal \"{name}\" sent to process {id}")),
                status: report.status,
                exit_code: report.exit_code,
                signal: report.signal,
                ..Outcome::default()
            }
        }
        Ok((state @ (State::Exited(_) | State::Lost(_)), _)) => {
            let report = Report::of_state(&state);
            Outcome {
                success: true,
                message: Some(format!("process {id} has already ended")),
                already_exited: Some(true),
                status: report.status,
                exit_code: report.exit_code,
                signal: report.signal,
                error: None,
            }
        }
        Err(Error::NotFound) => failure(&notes::not_found(id)),
        Err(error) => failure(&error.to_string()),
    })
}

/// Returns the signal of this name, with its name in replies.
fn named(name: &str) -> Option<(&'static str, Signal)> {
    let upper = name.trim().to_uppercase();
    let short = upper.strip_prefix("SIG").unwrap_or(&upper);
    let is_named = |(name, posix, number, _): &&(&str, &str, &str, Signal)| {
        short == *posix || short == *number || short.eq_ignore_ascii_case(name)
    };
    let (name, _, _, signal) = SIGNALS.iter().find(is_named)?;
    Some((name, *signal))
}

/// Returns how a process stands a moment after a signal that it was in this state for.
fn after(process: &dyn Process, signal: Signal, state: &State) -> State {
    let ends = matches!(
        signal,
        Signal::Terminate | Signal::Kill | Signal::Interrupt | Signal::Quit
    );
    let options = match state {
        State::Running => WaitOptions::at_most(TO_END),
        // Until nothing can write any more. What is written meanwhile is no end.
        State::Lingering(_) => WaitOptions {
            since: u64::MAX,
            output: true,
            ..WaitOptions::at_most(TO_END)
        },
        State::Exited(_) | State::Lost(_) => return state.clone(),
    };
    if !ends {
        return state.clone();
    }
    let waited = process.wait(&options);
    waited.map_or_else(|_| state.clone(), |waited| waited.state)
}

fn grace(argument: Option<&Argument>, signal: Signal) -> Result<Option<Duration>, ToolError> {
    let Some(text) = argument else {
        return Ok(None);
    };
    let grace = match text.parse() {
        Ok(Parsed::Positive(grace)) if grace <= MAX_GRACE => grace,
        Ok(Parsed::NotPositive) => Duration::ZERO,
        Ok(Parsed::Positive(_)) => {
            return Err(invalid(format!(
                "invalid grace \"{text}\": it must be at most 1h"
            )));
        }
        Err(reason) => return Err(invalid(format!("invalid grace \"{text}\": {reason}"))),
    };
    if signal != Signal::Terminate {
        return Err(invalid("grace is for the signal \"terminate\" only"));
    }
    Ok(Some(grace))
}

fn failure(error: &str) -> Outcome {
    Outcome {
        error: Some(format!("signal process: {error}")),
        ..Outcome::default()
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use toolhost_sdk::processes::{Cause, Wake};
    use toolhost_sdk::testing::{self, FakeProcess, FakeProcesses};

    use super::*;

    fn signal(processes: &FakeProcesses, id: &str, signal: &str) -> String {
        let arguments = Arguments {
            process_id: id.to_owned(),
            signal: signal.to_owned(),
            ..Arguments::default()
        };
        match run(processes, &arguments) {
            Ok(outcome) => serde_json::to_string(&outcome).unwrap(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn sends_every_signal() {
        let processes = FakeProcesses::new().has(FakeProcess::new("one"), "sleep 100");
        for (name, _, _, expected) in SIGNALS {
            let reply = signal(&processes, "one", name);
            assert!(
                reply.contains(&format!(
                    r#""message":"signal \"{name}\" sent to process one""#
                )),
                "{reply}"
            );
            assert_eq!(
                processes.signals().last(),
                Some(&("one".to_owned(), expected, None))
            );
        }
        assert_snapshot!(signal(&processes, "one", "kill"), @r#"{"success":true,"message":"signal \"kill\" sent to process one","status":"running"}"#);
    }

    #[test]
    fn takes_the_names_of_the_system() {
        for (name, expected) in [
            ("SIGTERM", Signal::Terminate),
            ("term", Signal::Terminate),
            ("9", Signal::Kill),
            ("Kill", Signal::Kill),
            ("SIGINT", Signal::Interrupt),
            (" SIGUSR1 ", Signal::User1),
        ] {
            let processes = FakeProcesses::new().has(FakeProcess::new("one"), "sleep 100");
            signal(&processes, "one", name);
            assert_eq!(processes.signals()[0].1, expected, "{name}");
        }
    }

    #[test]
    fn waits_a_moment_for_the_end() {
        let of = |name: &str| {
            let process = FakeProcess::new("one")
                .wakes(Wake::Ended)
                .is_ended_by("SIGKILL", Cause::Signalled);
            signal(&FakeProcesses::new().has(process, "sleep 100"), "one", name)
        };
        assert_snapshot!(of("kill"), @r#"{"success":true,"message":"signal \"kill\" sent to process one","status":"exited","exit_code":-1,"signal":"SIGKILL"}"#);
        let left = FakeProcess::new("one")
            .lingers(0, &[(7, "sleep 90")])
            .wakes(Wake::Ended)
            .exits(0);
        let left = signal(&FakeProcesses::new().has(left, "sleep 90 &"), "one", "kill");
        assert_snapshot!(left, @r#"{"success":true,"message":"signal \"kill\" sent to process one","status":"exited","exit_code":0}"#);
        assert_snapshot!(of("hangup"), @r#"{"success":true,"message":"signal \"hangup\" sent to process one","status":"running"}"#);
    }

    #[test]
    fn is_content_with_a_process_that_has_ended() {
        let processes = FakeProcesses::new()
            .has(FakeProcess::new("one").exits(3), "exit 3")
            .has(
                FakeProcess::new("two").is_ended_by("SIGKILL", Cause::Signalled),
                "sleep 100",
            );
        assert_snapshot!(signal(&processes, "one", "terminate"), @r#"{"success":true,"message":"process one has already ended","already_exited":true,"status":"exited","exit_code":3}"#);
        assert_snapshot!(signal(&processes, "two", "terminate"), @r#"{"success":true,"message":"process two has already ended","already_exited":true,"status":"exited","exit_code":-1,"signal":"SIGKILL"}"#);
    }

    #[test]
    fn checks_its_arguments_in_order() {
        let processes = FakeProcesses::new();
        assert_eq!(signal(&processes, "", "stop"), "process_id is required");
        for bad in ["", "stop", "SIGSTOP", "99"] {
            let error = signal(&processes, "one", bad);
            assert!(
                error.starts_with(r#"signal must be "terminate" or "kill""#),
                "{error}"
            );
            assert!(
                SIGNALS.iter().all(|(name, ..)| error.contains(name)),
                "{error}"
            );
        }
        let unknown = testing::call::<ProcessSignal>(
            r#"{"process_id": "one", "signal": "kill", "force": true}"#,
        );
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("there is no argument `force`")
        );
    }

    #[test]
    fn reports_a_failure() {
        let processes = FakeProcesses::new().has(
            FakeProcess::new("one").fails_to_signal(Error::Unavailable("workspace offline".into())),
            "sleep 1",
        );
        assert_snapshot!(signal(&processes, "one", "kill"), @r#"{"success":false,"error":"signal process: workspace offline"}"#);
        assert_snapshot!(signal(&processes, "two", "kill"), @r#"{"success":false,"error":"signal process: process \"two\" not found; process_list has those of this chat"}"#);
    }

    #[test]
    fn passes_the_grace_on() {
        let call = |arguments: &str| {
            let processes = FakeProcesses::new().has(FakeProcess::new("one"), "sleep 100");
            let arguments = serde_json::from_str(arguments).unwrap();
            let reply = run(&processes, &arguments).map_err(|error| error.to_string());
            reply.map(|_| processes.signals()[0].2)
        };
        let of = |signal: &str, grace: &str| {
            call(&format!(
                r#"{{"id": "one", "signal": "{signal}", "grace": {grace}}}"#
            ))
        };
        assert_eq!(
            of("terminate", "\"30s\""),
            Ok(Some(Duration::from_secs(30)))
        );
        assert_eq!(of("terminate", "0"), Ok(Some(Duration::ZERO)));
        assert_eq!(of("kill", "null"), Ok(None));
        for (signal, grace, error) in [
            (
                "kill",
                "\"1s\"",
                "grace is for the signal \"terminate\" only",
            ),
            (
                "terminate",
                "\"2h\"",
                "invalid grace \"2h\": it must be at most 1h",
            ),
            (
                "terminate",
                "\"x\"",
                "invalid grace \"x\": a duration is written like 10s, 500ms or 1m30s",
            ),
        ] {
            assert_eq!(of(signal, grace), Err(error.to_owned()));
        }
    }
}
