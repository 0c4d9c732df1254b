//! Rows of a table of all that runs: each call, below it its processes, and then those whose call is over.

use std::collections::HashMap;
use std::time::Duration;

use crate::cli::remote::{Process, RunningCall, Snapshot};
use crate::cli::table::{NARROW, cut, duration, lines, short_id, size};
use toolhost_plugin::shown;
use unicode_width::UnicodeWidthStr as _;

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

/// The column that says what runs, and the fewest characters of it that tell one command from another.
const WHAT: (usize, usize) = (2, 16);

/// The columns that a narrow terminal leaves out, the least important first: PROCESSES, CPU, CHAT, ID, MEMORY.
const DISPENSABLE: [usize; 5] = [7, 5, 1, 0, 6];

/// The fewest columns for the last line of output.
const LAST_LINE: usize = 20;

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// By chat, each call with its processes below it.
    #[default]
    Chat,
    /// Those that use most of a CPU first.
    Cpu,
    /// Those that use most memory first.
    Memory,
    /// Those that run for longest first.
    Time,
}

impl Order {
    /// Returns the next order.
    pub(super) fn next(self) -> Self {
        match self {
            Self::Chat => Self::Cpu,
            Self::Cpu => Self::Memory,
            Self::Memory => Self::Time,
            Self::Time => Self::Chat,
        }
    }

    /// Returns what the rows are sorted by.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Cpu => "CPU",
            Self::Memory => "memory",
            Self::Time => "time",
        }
    }
}

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) target: Target,
    cells: [String; HEAD.len()],
    last_line: String,
    /// The percent of a core, the bytes of memory, and the milliseconds since the start, as far as they are known.
    percent: Option<u64>,
    memory: Option<u64>,
    age_ms: Option<u64>,
}

impl Row {
    /// Returns whether a name or the last line has this text, in upper or lower case.
    pub(super) fn has(&self, text: &str) -> bool {
        let names = self.cells.iter().take(NAMES.end);
        let mut texts = names.chain([&self.last_line]);
        texts.any(|cell| cell.to_lowercase().contains(&text.to_lowercase()))
    }
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

/// Sorts rows that are in the order of chats.
pub(super) fn sort(rows: &mut [Row], order: Order) {
    let key = |row: &Row| match order {
        Order::Chat => None,
        Order::Cpu => row.percent,
        Order::Memory => row.memory,
        Order::Time => row.age_ms,
    };
    if order != Order::Chat {
        rows.sort_by_key(|row| std::cmp::Reverse(key(row)));
        for row in rows {
            let [id, ..] = &mut row.cells;
            *id = id.trim_start_matches(BELOW).to_owned();
        }
    }
}

/// The mark of a process that stands below its call.
const BELOW: &str = "└ ";

/// Returns a row for everything that runs, in the order of chats. With an earlier snapshot, the rows have the CPU that was used since.
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
        percent: None,
        memory: None,
        age_ms: Some(call.running_ms),
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
        let mark = if is_below { BELOW } else { "" };
        let state = match process.status.as_str() {
            "running" => String::new(),
            status => format!(" ({})", shown(status)),
        };
        let started = process.started_ms();
        let age_ms = started.map(|started| self.at.saturating_sub(started));
        let percent = self.percent(process);
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
                or_none(age_ms.map(|age| duration(Duration::from_millis(age)))),
                or_none(percent.map(|percent| percent.to_string())),
                or_none(usage.map(|usage| duration(Duration::from_millis(usage.cpu_ms)))),
                or_none(usage.map(|usage| size(usage.memory_bytes))),
                or_none(usage.map(|usage| usage.processes.to_string())),
            ],
            last_line: process.last_line.as_deref().map(shown).unwrap_or_default(),
            percent,
            memory: usage.map(|usage| usage.memory_bytes),
            age_ms,
        }
    }
}

/// Returns the head of the table and a line for each row. A narrow terminal leaves out the least important columns; the last line of
/// output gets the room that is left.
pub(super) fn table(rows: &[Row], width: Option<usize>) -> Vec<String> {
    let head = HEAD.map(str::to_owned);
    let all: Vec<_> = std::iter::once(&head)
        .chain(rows.iter().map(|row| &row.cells))
        .collect();
    let least = least_widths(&all);
    let mut kept: Vec<usize> = (0..HEAD.len()).collect();
    let needed = |kept: &[usize]| {
        let widths = kept.iter().filter_map(|column| least.get(*column));
        widths.sum::<usize>() + 2 * kept.len().saturating_sub(1)
    };
    for column in DISPENSABLE {
        if width.is_none_or(|width| needed(&kept) <= width) {
            break;
        }
        kept.retain(|one| *one != column);
    }
    let cells: Vec<Vec<String>> = all
        .iter()
        .map(|cells| {
            kept.iter()
                .filter_map(|one| cells.get(*one).cloned())
                .collect()
        })
        .collect();
    let names = kept.iter().filter(|column| NAMES.contains(column)).count();
    let has_room = width.is_none_or(|width| needed(&kept) + LAST_LINE <= width);
    let has_last = has_room && rows.iter().any(|row| !row.last_line.is_empty());
    let room = width.map(|width| match has_last {
        true => width.saturating_sub(LAST_LINE),
        false => width,
    });
    let last = std::iter::once("LAST LINE").chain(rows.iter().map(|row| row.last_line.as_str()));
    let lines = lines(&cells, room, 0..names).into_iter().zip(last);
    let lines = lines.map(|(line, last)| {
        let last = if has_last { last } else { "" };
        let line = format!("{line}  {last}").trim_end().to_owned();
        width.map_or_else(|| line.clone(), |width| cut(&line, width))
    });
    lines.collect()
}

/// Returns the width that each column needs at least.
fn least_widths(rows: &[&[String; HEAD.len()]]) -> [usize; HEAD.len()] {
    let mut widths = [0; HEAD.len()];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(*row) {
            *width = (*width).max(cell.width());
        }
    }
    for (column, width) in widths.iter_mut().enumerate() {
        if NAMES.contains(&column) {
            *width = (*width).min(if column == WHAT.0 { WHAT.1 } else { NARROW });
        }
    }
    widths
}
