//! Processes as a table for people: a line for each.

use std::time::Duration;

use crate::cli::remote::Process;
use crate::cli::table::{ago, columns, duration, short_id, size, width};
use toolhost_plugin::shown;
use toolhost_state::unix_time;

const HEAD: [&str; 5] = ["PROCESS", "CHAT", "COMMAND", "STARTED", "STATUS"];

/// The columns for what a process uses.
const USAGE: [&str; 2] = ["CPU", "MEMORY"];

/// Returns a line for each process. Unless everything is to be shown, it fits the terminal.
pub(super) fn render(processes: &[Process], everything: bool) -> String {
    rendered(processes, everything, width(), unix_time::now_ms())
}

fn rendered(processes: &[Process], everything: bool, width: Option<usize>, now_ms: u64) -> String {
    let has_usage = processes.iter().any(|process| process.usage.is_some());
    let usage = USAGE.iter().filter(|_| has_usage);
    let head = HEAD.iter().chain(usage).map(|name| (*name).to_owned());
    let mut rows = vec![head.collect::<Vec<_>>()];
    for process in processes {
        let id = match everything {
            true => &process.id,
            false => short_id(&process.id),
        };
        let started = process.started_ms();
        let chat = process.chat.as_deref();
        let mut row = vec![
            shown(id),
            chat.map_or_else(|| "-".to_owned(), shown),
            shown(&process.command),
            started.map_or_else(|| "-".to_owned(), |started| ago(started, now_ms)),
            status(process),
        ];
        if has_usage {
            row.extend(usage_of(process));
        }
        rows.push(row);
    }
    columns(&rows, width.filter(|_| !everything), 1..3)
}

/// Returns how a process stands, with its exit code or the signal that ended it.
pub(in crate::cli) fn status(process: &Process) -> String {
    let status = shown(&process.status);
    match (process.is_live(), &process.signal, process.exit_code) {
        (true, ..) => status,
        (false, Some(signal), _) => format!("{status} ({})", shown(signal)),
        (false, None, Some(code)) if process.status == "exited" => format!("{status} ({code})"),
        _ => status,
    }
}

/// Returns CPU time and memory of the process and of everything that it started.
fn usage_of(process: &Process) -> [String; 2] {
    match process.usage {
        Some(usage) => [
            duration(Duration::from_millis(usage.cpu_ms)),
            size(usage.memory_bytes),
        ],
        None => ["-".to_owned(), "-".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn process(more: Value) -> Process {
        let mut value = json!({
            "id": "0b0c8f5e-7a5f-4d0e-9c11-1f6c8f0e7a5f", "chat": "support-42", "command": "make test", "status": "running",
            "started_at_unix": 1_000,
        });
        let Value::Object(more) = more else {
            unreachable!("the test gives an object")
        };
        value.as_object_mut().unwrap().extend(more);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_table_has_a_line_for_each_process() {
        let now = 1_000_000 + 125_000;
        let all = [
            process(json!({})),
            process(json!({ "status": "exited", "exit_code": 2, "command": "a\n\u{1b}[2J\tb" })),
            process(
                json!({ "status": "exited", "exit_code": -1, "signal": "SIGKILL", "chat": null }),
            ),
            process(json!({ "status": "lost", "exit_code": -1 })),
        ];
        insta::assert_snapshot!(rendered(&all, false, None, now), @r"
        PROCESS       CHAT        COMMAND          STARTED  STATUS
        0b0c8f5e-7a5  support-42  make test        2m ago   running
        0b0c8f5e-7a5  support-42  a\n\u{1b}[2J\tb  2m ago   exited (2)
        0b0c8f5e-7a5  -           make test        2m ago   exited (SIGKILL)
        0b0c8f5e-7a5  support-42  make test        2m ago   lost
        ");
        let usage = json!({ "cpu_ms": 61_000, "memory_bytes": 3 << 20, "processes": 2 });
        let all = [process(json!({ "usage": usage })), process(json!({}))];
        insta::assert_snapshot!(rendered(&all, true, Some(20), now), @r"
        PROCESS                               CHAT        COMMAND    STARTED  STATUS   CPU    MEMORY
        0b0c8f5e-7a5f-4d0e-9c11-1f6c8f0e7a5f  support-42  make test  2m ago   running  1m01s  3.0 MiB
        0b0c8f5e-7a5f-4d0e-9c11-1f6c8f0e7a5f  support-42  make test  2m ago   running  -      -
        ");
    }
}
