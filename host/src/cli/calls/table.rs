//! Calls as a table for people: a line for each call.

use std::io::IsTerminal as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Local};
use toolhost_plugin::shown;
use toolhost_server::{ListedCall, ListedState};

/// The narrowest column that a name is cut to.
const NARROW: usize = 8;

const HEAD: [&str; 6] = ["WHEN", "CHAT", "CALL", "TOOL", "STATE", "TOOK"];

/// The columns with names, which are cut where a terminal is too narrow.
const NAMES: std::ops::Range<usize> = 1..4;

/// Returns the columns of the terminal that the table is printed to; `None` if it is no terminal.
pub(super) fn width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(stdout));
    size.flatten().map(|(width, _)| width.0.into())
}

/// Returns a line for each call. Where the names do not fit into the width, they are cut.
pub(super) fn render(calls: &[ListedCall], width: Option<usize>) -> String {
    let rows = calls.iter().map(row);
    let rows: Vec<_> = std::iter::once(HEAD.map(str::to_owned))
        .chain(rows)
        .collect();
    columns(&rows, width, NAMES)
}

/// Returns rows as lines with aligned columns. Where they do not fit into the width, the columns in `names` are cut.
pub(in crate::cli) fn columns<const N: usize>(
    rows: &[[String; N]],
    width: Option<usize>,
    names: std::ops::Range<usize>,
) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    while let Some(most) = width
        && widths.iter().sum::<usize>() + 2 * (widths.len() - 1) > most
    {
        let widest = widths
            .get_mut(names.clone())
            .and_then(|names| names.iter_mut().max());
        match widest.filter(|widest| **widest > NARROW) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{:width$}", cut(cell, width)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn row(call: &ListedCall) -> [String; HEAD.len()] {
    [
        time(call.began_at_unix_ms),
        call.chat.clone(),
        call.id.clone(),
        shown(&call.tool),
        state(call).to_owned(),
        took(call).unwrap_or_else(|| "-".to_owned()),
    ]
}

/// Cuts a text at its end.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Returns how a call stands, in one word where the words of HTTP are several.
pub(in crate::cli) fn state(call: &ListedCall) -> &'static str {
    match call.state {
        ListedState::Running => "running",
        ListedState::Finished if call.success == Some(false) => "error",
        ListedState::Finished => "finished",
        ListedState::Failed => "failed",
        ListedState::Cancelled => "cancelled",
        ListedState::Unknown => "unknown",
    }
}

/// Returns a time as the clock of this machine shows it.
pub(in crate::cli) fn time(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms)
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    let local = time.map(|time| time.with_timezone(&Local));
    local.map_or_else(
        || "-".to_owned(),
        |local| local.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// Returns how long a call took, or has taken so far; `None` if its end is not known.
pub(in crate::cli) fn took(call: &ListedCall) -> Option<String> {
    let end = match (call.ended_at_unix_ms, call.state) {
        (Some(ended), _) => Some(ended),
        (None, ListedState::Running) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            u64::try_from(now.unwrap_or_default().as_millis()).ok()
        }
        (None, _) => None,
    };
    end.map(|end| {
        duration(Duration::from_millis(
            end.saturating_sub(call.began_at_unix_ms),
        ))
    })
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{:.1}s", time.as_millis() as f64 / 1000.0),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(chat: &str, id: &str) -> ListedCall {
        ListedCall {
            chat: chat.into(),
            id: id.into(),
            tool: "execute".into(),
            state: ListedState::Finished,
            success: Some(true),
            token: None,
            began_at_unix_ms: 1_700_000_000_000,
            ended_at_unix_ms: Some(1_700_000_001_234),
            arguments_bytes: None,
            reply_bytes: Some(1),
        }
    }

    #[test]
    fn a_table_has_a_line_for_each_call() {
        let calls = [
            call("support-42", "3.call_0"),
            ListedCall {
                success: Some(false),
                ended_at_unix_ms: Some(1_700_000_090_000),
                ..call("a", "b")
            },
            ListedCall {
                state: ListedState::Unknown,
                success: Some(false),
                ended_at_unix_ms: None,
                ..call("a", "c")
            },
        ];
        let when = time(1_700_000_000_000);
        let expected = format!(
            "WHEN                 CHAT        CALL      TOOL     STATE     TOOK\n\
             {when}  support-42  3.call_0  execute  finished  1.2s\n\
             {when}  a           b         execute  error     1m30s\n\
             {when}  a           c         execute  unknown   -"
        );
        assert_eq!(render(&calls, None), expected);
        assert_eq!(render(&calls, Some(200)), expected);
    }

    #[test]
    fn long_names_are_cut_where_a_terminal_is_narrow() {
        let calls = [call(&"chat".repeat(20), &"call".repeat(10))];
        let lines = |width| {
            let table = render(&calls, width);
            table
                .lines()
                .map(|line| line.chars().count())
                .collect::<Vec<_>>()
        };
        assert!(lines(Some(80)).iter().all(|width| *width <= 80));
        assert!(render(&calls, Some(80)).contains('…'));
        assert!(!render(&calls, None).contains('…'));
        // A terminal without room for anything gets what it gets.
        assert!(lines(Some(0)).iter().all(|width| *width < 80));
    }

    #[test]
    fn durations_have_one_unit_or_two() {
        for (milliseconds, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1.0s"),
            (59_949, "59.9s"),
            (60_000, "1m00s"),
            (3_725_000, "1h02m"),
            (360_000_000, "100h00m"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), text);
        }
    }
}
