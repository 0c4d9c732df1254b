//! Advice for the operator or the author about a failure.

use std::time::Duration;

use toolhost_call::metrics::LimitKind;

use crate::limits::{Limits, bytes};
use crate::reached::Reached;

/// Returns the line of the configuration that raises a limit, or why nothing raises it.
pub(super) fn raise(reached: &Reached, plugin: &str, limits: &Limits) -> Option<String> {
    let size = |key: &str, limit: usize| {
        let more = bytes(limit.saturating_mul(2)).replace(' ', "");
        Some((key.to_owned(), format!("\"{more}\"")))
    };
    let time = |key: &str, limit: Duration| Some((key.to_owned(), time(limit.saturating_mul(3))));
    let number = |key: &str, limit: usize| {
        let more = limit.max(1).saturating_mul(2);
        Some((key.to_owned(), more.to_string()))
    };
    let http_bytes = usize::try_from(limits.http_bytes).unwrap_or(usize::MAX);
    let (key, value) = match reached.kind {
        LimitKind::Memory => size("memory", limits.memory),
        LimitKind::Handles => number("handles", limits.handles),
        LimitKind::GuestTime => time("guest_time", limits.guest_time),
        // A tool can name a time of its own, which the limit does not change.
        LimitKind::Deadline if reached.value == milliseconds(limits.deadline) => {
            time("deadline", limits.deadline)
        }
        LimitKind::Reply => size("reply", limits.reply),
        LimitKind::HostCallData => size("host_call_data", limits.host_call_data),
        LimitKind::HostData => size("host_data", limits.host_data),
        LimitKind::ProcessStarts => number("process_starts", limits.process_starts as usize),
        LimitKind::HttpRequests => number("http_requests", limits.http_requests as usize),
        LimitKind::HttpBytes => size("http_bytes", http_bytes),
        LimitKind::Stack => return Some("no setting raises it: recurse less deeply".into()),
        _ => None,
    }?;
    Some(format!(
        "if it needs more, put `limits = {{ {key} = {value} }}` into [plugins.{plugin}]"
    ))
}

fn milliseconds(time: Duration) -> usize {
    usize::try_from(time.as_millis()).unwrap_or(usize::MAX)
}

/// Returns a time as the configuration has it.
fn time(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("\"{}s\"", time.as_secs()),
        _ => format!("\"{}ms\"", time.as_millis()),
    }
}

/// Returns the line of the configuration that gives the settings which a plugin asked for in vain.
pub(super) fn missing_settings(names: &[String], plugin: &str) -> Option<String> {
    let (first, rest) = names.split_first()?;
    let all = rest.iter().fold(format!("\"{first}\""), |all, name| {
        format!("{all}, \"{name}\"")
    });
    let noun = if rest.is_empty() {
        "setting"
    } else {
        "settings"
    };
    Some(format!(
        "it asked for the {noun} {all}, which the configuration does not have: put `settings = {{ {first} = \"…\" }}` into [plugins.{plugin}]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_names_its_setting_and_a_larger_value() {
        let limits = Limits::default();
        let raised = |kind, value| raise(&Reached::of(kind, value), "x", &limits);
        assert_eq!(
            raised(LimitKind::Memory, limits.memory).unwrap(),
            "if it needs more, put `limits = { memory = \"128MiB\" }` into [plugins.x]"
        );
        let guest_time = raised(LimitKind::GuestTime, 2000).unwrap();
        assert!(
            guest_time.contains("{ guest_time = \"6s\" }"),
            "{guest_time}"
        );
        let deadline = raised(LimitKind::Deadline, 600_000).unwrap();
        assert!(deadline.contains("{ deadline = \"1800s\" }"), "{deadline}");
        // The tool itself names this time.
        assert_eq!(raised(LimitKind::Deadline, 5000), None);
        assert_eq!(raised(LimitKind::TableElements, 100_000), None);
    }

    #[test]
    fn settings_that_are_missing_are_named() {
        assert_eq!(missing_settings(&[], "x"), None);
        assert_eq!(
            missing_settings(&["city".into(), "unit".into()], "x").unwrap(),
            "it asked for the settings \"city\", \"unit\", which the configuration does not have: put `settings = { city = \"…\" }` into [plugins.x]"
        );
    }
}
