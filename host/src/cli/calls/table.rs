//! Calls as a table for people: a line for each call.

use std::time::Duration;

use crate::cli::table::{columns, duration, time};
use toolhost_plugin::shown;
use toolhost_server::{ListedCall, ListedState};
use toolhost_state::unix_time;

const HEAD: [&str; 6] = ["WHEN", "CHAT", "CALL", "TOOL", "STATE", "TOOK"];

/// The columns with names, which are cut where a terminal is too narrow.
const NAMES: std::ops::Range<usize> = 1..4;

/// Returns a line for each call. Where the names do not fit into the width, they are cut.
pub(super) fn render(calls: &[ListedCall], width: Option<usize>) -> String {
    let rows = calls.iter().map(row);
    let rows: Vec<_> = std::iter::once(HEAD.map(str::to_owned))
        .chain(rows)
        .collect();
    columns(&rows, width, NAMES)
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

/// Returns how long a call took, or has taken so far; `None` if its end is not known.
pub(in crate::cli) fn took(call: &ListedCall) -> Option<String> {
    if let Some(took) = call.duration_ms {
        return Some(duration(Duration::from_millis(took)));
    }
    let end = match (call.ended_at_unix_ms, call.state) {
        (Some(ended), _) => Some(ended),
        (None, ListedState::Running) => Some(unix_time::now_ms()),
        (None, _) => None,
    };
    end.map(|end| {
        duration(Duration::from_millis(
            end.saturating_sub(call.began_at_unix_ms),
        ))
    })
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
            duration_ms: None,
            queued_ms: Some(0),
            guest_ms: Some(3),
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
        assert!(lines(Some(10)).iter().all(|width| *width <= 10));
    }
}
