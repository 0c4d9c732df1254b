//! Rows of a table of all that runs: each call, below it its processes, and then those whose call is over.

use std::collections::HashMap;
use std::time::Duration;

use crate::cli::remote::{Process, RunningCall, Snapshot};
use crate::cli::table::{cut, duration, lines, short_id, size};
use toolhost_plugin::shown;

const HEAD: [&str; 8] = [
    "ID",
    "CHAT",
    "WHAT",
    "FOR",
    "CPU%",
    "CPU",
    "MEMORY",
    "PROCESSES",
];

/// The columns that are cut where a terminal is too narrow.
const NAMES: std::ops::Range<usize> = 0..3;

/// The fewest columns for the last line of output.
const LAST_LINE: usize = 20;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) target: Target,
    cells: [String; HEAD.len()],
    last_line: String,
}

/// The thing that a row is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Call {
        chat: String,
        id: String,
    },
    Process {
        /// `None`: no chat has it, so that it cannot be ended here.
        chat: Option<String>,
        id: String,
        command: String,
    },
}

/// Returns a row for everything that runs. With an earlier snapshot, the rows have the CPU that was used since.
pub(super) fn of(now: &Snapshot, before: Option<&Snapshot>) -> Vec<Row> {
    let mut calls: Vec<_> = now.calls.iter().collect();
    calls.sort_by(|a, b| (&a.chat, &a.id).cmp(&(&b.chat, &b.id)));
    let mut processes: Vec<_> = now.processes.iter().collect();
    processes.sort_by(|a, b| {
        let key = |process: &Process| (process.chat.clone(), process.started_ms());
        key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
    });
    let usage = Used::between(now, before);
    let mut rows = Vec::new();
    for call in calls {
        rows.push(of_call(call));
        let (own, others): (Vec<_>, Vec<_>) = processes.into_iter().partition(|process| {
            process.call.as_ref() == Some(&call.id) && process.chat.as_ref() == Some(&call.chat)
        });
        rows.extend(own.into_iter().map(|process| usage.row(process, true)));
        processes = others;
    }
    rows.extend(
        processes
            .into_iter()
            .map(|process| usage.row(process, false)),
    );
    rows
}

fn of_call(call: &RunningCall) -> Row {
    let state = match call.state.as_str() {
        "running" => String::new(),
        state => format!(" ({})", shown(state)),
    };
    let none = || "-".to_owned();
    Row {
        target: Target::Call {
            chat: call.chat.clone(),
            id: call.id.clone(),
        },
        cells: [
            shown(&call.id),
            shown(&call.chat),
            format!("{}{state}", shown(&call.tool)),
            duration(Duration::from_millis(call.running_ms)),
            none(),
            none(),
            none(),
            none(),
        ],
        last_line: String::new(),
    }
}

/// The time between two snapshots, and the CPU time of the processes in the first, in milliseconds.
struct Used<'s> {
    at: u64,
    passed: u64,
    before: HashMap<&'s str, u64>,
}

impl<'s> Used<'s> {
    fn between(now: &Snapshot, before: Option<&'s Snapshot>) -> Self {
        let passed = before.map_or(0, |before| now.at_unix_ms.saturating_sub(before.at_unix_ms));
        let all = before.into_iter().flat_map(|before| &before.processes);
        let times = all.filter_map(|process| Some((process.id.as_str(), process.usage?.cpu_ms)));
        Self {
            at: now.at_unix_ms,
            passed,
            before: times.collect(),
        }
    }

    /// Returns the CPU that a process has used since, in percent of one core.
    fn percent(&self, process: &Process) -> Option<u64> {
        let used = process.usage?.cpu_ms;
        let before = *self.before.get(process.id.as_str())?;
        (used.saturating_sub(before) * 100).checked_div(self.passed)
    }

    fn row(&self, process: &Process, is_below: bool) -> Row {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let usage = process.usage;
        let mark = if is_below { "└ " } else { "" };
        let state = match process.status.as_str() {
            "running" => String::new(),
            status => format!(" ({})", shown(status)),
        };
        let started = process.started_ms();
        let age = started.map(|started| Duration::from_millis(self.at.saturating_sub(started)));
        Row {
            target: Target::Process {
                chat: process.chat.clone(),
                id: process.id.clone(),
                command: process.command.clone(),
            },
            cells: [
                format!("{mark}{}", shown(short_id(&process.id))),
                or_none(process.chat.as_deref().map(shown)),
                format!("{}{state}", shown(&process.command)),
                or_none(age.map(duration)),
                or_none(self.percent(process).map(|percent| percent.to_string())),
                or_none(usage.map(|usage| duration(Duration::from_millis(usage.cpu_ms)))),
                or_none(usage.map(|usage| size(usage.memory_bytes))),
                or_none(usage.map(|usage| usage.processes.to_string())),
            ],
            last_line: process.last_line.as_deref().map(shown).unwrap_or_default(),
        }
    }
}

/// Returns the head of the table and a line for each row. The last line of output gets the columns that are left.
pub(super) fn table(rows: &[Row], width: Option<usize>) -> Vec<String> {
    let head = HEAD.map(str::to_owned);
    let cells: Vec<_> = std::iter::once(&head)
        .chain(rows.iter().map(|row| &row.cells))
        .collect();
    let cells: Vec<&[String]> = cells.into_iter().map(|cells| &cells[..]).collect();
    let has_last = rows.iter().any(|row| !row.last_line.is_empty());
    let room = width.map(|width| match has_last {
        true => width.saturating_sub(LAST_LINE),
        false => width,
    });
    let last = std::iter::once(if has_last { "LAST LINE" } else { "" })
        .chain(rows.iter().map(|row| row.last_line.as_str()));
    let lines = lines(&cells, room, NAMES).into_iter().zip(last);
    let lines = lines.map(|(line, last)| {
        let line = format!("{line}  {last}").trim_end().to_owned();
        width.map_or_else(|| line.clone(), |width| cut(&line, width))
    });
    lines.collect()
}
