//! `process_list`: the processes of the chat.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_sdk::processes::{Host, Info, Processes};
use toolhost_sdk::{Call, Hints, Reply, Schema, Tool, ToolError};

use crate::clip;
use crate::report::{Report, Status};

/// How many processes are shown.
const LIMIT: u32 = 10;

/// How much of each command is shown, in bytes.
const MAX_COMMAND: usize = 200;

/// The tool.
#[derive(Debug)]
pub(crate) struct ProcessList;

/// What the model says: nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {}

impl Tool for ProcessList {
    const NAME: &'static str = "process_list";
    const TITLE: Option<&'static str> = Some("List processes");
    const DESCRIPTION: &'static str = "List the processes that execute started in this chat, with their ids, commands, \
        states, ages and output sizes. Shows at most 10: those that still run first, then the newest; total says how many \
        there are.";
    const HINTS: Hints = Hints {
        read_only: true,
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<List>())
    }

    fn call(_call: &Call, _arguments: Arguments) -> Result<Reply, ToolError> {
        Reply::json(&run(&Host, now_ms()))
    }
}

/// The reply. What does not apply is left out.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct List {
    /// Whether the processes could be listed.
    success: bool,
    /// Why they could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Those that still run first, and newest first among these and among the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<Vec<Entry>>,
    /// How many there are, shown or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    /// How many of them are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_shown: Option<u32>,
}

/// One process. What does not apply is left out.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    id: String,
    /// The command as it was started, cut at 200 bytes.
    command: String,
    workdir: String,
    background: bool,
    running: bool,
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    started_at_unix: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exited_at_unix: Option<u64>,
    /// How long ago it was started, in seconds.
    age_seconds: u64,
    /// When it last wrote; nothing if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_output_at_unix: Option<u64>,
    /// How many bytes it wrote so far.
    total_bytes: u64,
}

/// Runs one call, at this moment in milliseconds since the Unix epoch.
pub(crate) fn run(processes: &dyn Processes, now_ms: u64) -> List {
    match processes.list(false, LIMIT) {
        Ok((infos, total)) => {
            let shown = u32::try_from(infos.len()).unwrap_or(u32::MAX);
            let entries = infos.into_iter().map(|info| Entry::of(info, now_ms));
            List {
                success: true,
                processes: Some(entries.collect()),
                total: Some(total),
                not_shown: total.checked_sub(shown).filter(|more| *more > 0),
                ..List::default()
            }
        }
        Err(error) => List {
            error: Some(format!("list processes: {error}")),
            ..List::default()
        },
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

impl Entry {
    fn of(info: Info, now_ms: u64) -> Self {
        let state = Report::of_state(&info.state);
        let running = state.running == Some(true);
        Self {
            id: info.id,
            command: clip(info.command, MAX_COMMAND),
            workdir: info.workdir,
            background: info.background,
            running,
            status: state.status,
            exit_code: state.exit_code,
            signal: state.signal,
            started_at_unix: info.started_ms / 1000,
            exited_at_unix: info.exited_ms.map(|moment| moment / 1000),
            age_seconds: now_ms.saturating_sub(info.started_ms) / 1000,
            last_output_at_unix: info.last_output_ms.map(|moment| moment / 1000),
            total_bytes: info.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use toolhost_sdk::processes::{Cause, Error};
    use toolhost_sdk::testing::{FakeProcess, FakeProcesses};

    use super::*;

    fn list(processes: &FakeProcesses) -> String {
        serde_json::to_string(&run(processes, 1_061_000))
            .unwrap()
            .replace(",{", ",\n{")
    }

    #[test]
    fn shows_those_that_run_first() {
        let processes = FakeProcesses::new()
            .has(FakeProcess::new("one").prints("ready\n"), "npm run dev")
            .has(FakeProcess::new("two").exits(3), "exit 3")
            .has(
                FakeProcess::new("three").is_ended_by("SIGTERM", Cause::Signalled),
                "sleep 100",
            )
            .has(
                FakeProcess::new("four").lingers(0, &[]),
                "sleep 5 & echo hi",
            );
        assert_snapshot!(list(&processes), @r#"
        {"success":true,"processes":[{"id":"four","command":"sleep 5 & echo hi","workdir":"/workspace","background":true,"running":false,"status":"lingering","exit_code":0,"started_at_unix":1000,"exited_at_unix":2000,"age_seconds":61,"total_bytes":0},
        {"id":"one","command":"npm run dev","workdir":"/workspace","background":true,"running":true,"status":"running","started_at_unix":1000,"age_seconds":61,"last_output_at_unix":1500,"total_bytes":6},
        {"id":"three","command":"sleep 100","workdir":"/workspace","background":true,"running":false,"status":"exited","exit_code":-1,"signal":"SIGTERM","started_at_unix":1000,"exited_at_unix":2000,"age_seconds":61,"total_bytes":0},
        {"id":"two","command":"exit 3","workdir":"/workspace","background":true,"running":false,"status":"exited","exit_code":3,"started_at_unix":1000,"exited_at_unix":2000,"age_seconds":61,"total_bytes":0}],"total":4}
        "#);
    }

    #[test]
    fn shows_ten_and_counts_all() {
        let processes = (0..12).fold(FakeProcesses::new(), |processes, number| {
            processes.has(FakeProcess::new(number.to_string()), "sleep 1")
        });
        let text = list(&processes);
        assert!(
            text.contains(r#""total":12"#) && text.matches(r#""id""#).count() == 10,
            "{text}"
        );
    }

    #[test]
    fn reports_a_failure() {
        let processes =
            FakeProcesses::new().fails_to_list(Error::Unavailable("workspace offline".into()));
        assert_snapshot!(list(&processes), @r#"{"success":false,"error":"list processes: workspace offline"}"#);
    }
}
