//! The page of limits: it has each limit of the code, with its default and its text.

use std::collections::BTreeMap;
use std::time::Duration;

use strum::VariantArray as _;
use toolhost_call::call::{MAX_ARGUMENTS, MAX_DEPTH};
use toolhost_call::metrics::{LimitKind, bytes};
use toolhost_plugin::{Ceiling, Limits, LoadError};

use super::blocks::blocks;
use super::page;
use super::reader::Reader;

/// Returns the cells of all rows of the tables whose header begins with these cells.
fn rows(page: &str, header: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut within = false;
    for line in page.lines() {
        match line.strip_prefix("| ") {
            None => within = within && line.starts_with("|---"),
            Some(_) if line.starts_with(header) => within = true,
            Some(row) if within => {
                let cells = row.trim_end_matches(" |").split(" | ");
                rows.push(cells.map(str::to_owned).collect());
            }
            Some(_) => {}
        }
    }
    rows
}

/// A number with commas, as people write it.
fn number(value: u64) -> String {
    let text = value.to_string();
    match text.len().checked_sub(3) {
        Some(at @ 1..) => format!("{},{}", &text[..at], &text[at..]),
        _ => text,
    }
}

fn time(value: Duration) -> String {
    match value.as_secs() {
        seconds if seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        seconds if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

fn milliseconds(value: Duration) -> u64 {
    u64::try_from(value.as_millis()).unwrap()
}

/// Returns the default of a limit, as the page shows it, and the text of the limit.
fn expected(kind: LimitKind, limits: &Limits) -> (String, String) {
    let of_size = |value: usize| (bytes(value as u64), kind.reached(value as u64));
    let of_number = |value: u64| (number(value), kind.reached(value));
    let of_time = |value| (time(value), kind.reached(milliseconds(value)));
    match kind {
        LimitKind::Memory => of_size(limits.memory),
        LimitKind::TableElements => of_number(limits.table_elements as u64),
        LimitKind::Instances => of_number(limits.instances as u64),
        LimitKind::Handles => of_number(limits.handles as u64),
        // `limits::what_ends_a_guest` compares it with the code.
        LimitKind::Stack => of_size(1 << 20),
        LimitKind::GuestTime => of_time(limits.guest_time),
        LimitKind::Deadline => of_time(limits.deadline),
        LimitKind::Reply => of_size(limits.reply),
        LimitKind::Log => of_size(limits.log),
        LimitKind::HostCallData => of_size(limits.host_call_data),
        LimitKind::HostData => of_size(limits.host_data),
        LimitKind::ProcessStarts => of_number(limits.process_starts.into()),
        LimitKind::HttpRequests => of_number(limits.http_requests.into()),
        LimitKind::HttpBytes => of_size(usize::try_from(limits.http_bytes).unwrap()),
        // `nested::bounds` compares both with the code.
        LimitKind::NestedCalls => of_number(1000),
        LimitKind::NestedReplies => of_size(64 << 20),
        LimitKind::ConcurrentCalls => of_number(limits.concurrent_calls as u64),
        LimitKind::CallsPerChat => of_number(limits.calls_per_chat as u64),
        LimitKind::CallsInAll => of_number(Ceiling::default().concurrent_calls as u64),
        LimitKind::MemoryInAll => {
            let text = kind.reached(512 << 20).replace("512 MiB", "…");
            let half = "half of the memory of the machine".to_owned();
            (half, format!("{text}; try again later"))
        }
        LimitKind::Component => {
            let (limit, size) = (limits.component, limits.component + 1);
            let error = LoadError::TooLarge { size, limit };
            (bytes(limit as u64), error.to_string())
        }
        LimitKind::CompileTime => {
            let (plugin, limit) = ("…".to_owned(), limits.compile_time);
            (
                time(limit),
                LoadError::CompileTime { plugin, limit }.to_string(),
            )
        }
    }
}

#[test]
fn each_limit_has_its_default_and_its_text() {
    let page = page("limits.md");
    let limits = Limits::default();
    let mut rows: BTreeMap<_, _> = rows(&page, "| limit | default |")
        .into_iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), row))
        .collect();
    for &kind in LimitKind::VARIANTS {
        let row = rows.remove(kind.name());
        let row = row.unwrap_or_else(|| panic!("docs/limits.md has no row for {}", kind.name()));
        let (default, text) = expected(kind, &limits);
        assert_eq!((&row[1], &row[3]), (&default, &text), "{}", kind.name());
        assert!(row[4].ends_with('.'), "{row:?}");
    }
    assert!(rows.is_empty(), "no limits of the code: {rows:?}");
}

#[test]
fn times_and_fixed_values_are_those_of_the_code() {
    let page = page("limits.md");
    let limits = Limits::default();
    let settings = rows(&page, "| setting | default | means |");
    let value = |name: &str| {
        let found = settings.iter().find(|row| row[0] == format!("`{name}`"));
        found.unwrap_or_else(|| panic!("docs/limits.md has no row for {name}"))[1].clone()
    };
    assert_eq!(value("max_deadline"), time(limits.max_deadline));
    assert_eq!(value("cancel_grace"), time(limits.cancel_grace));
    assert_eq!(value("traps"), limits.traps.to_string());
    let arguments = format!("| {}, {MAX_DEPTH} levels |", bytes(MAX_ARGUMENTS as u64));
    assert!(page.contains(&arguments), "{arguments}");
    let tools = LoadError::TooManyTools(129).to_string();
    assert!(
        tools.contains("the most is 128") && page.contains("| tools | 128 |"),
        "{tools}"
    );
    let ceiling = Ceiling::default();
    for (name, most) in [
        ("table_elements", ceiling.table_elements),
        ("instances", ceiling.instances),
        ("concurrent_calls", ceiling.concurrent_calls),
    ] {
        let setting = format!("`{name}`, {} at most", number(most as u64));
        assert!(page.contains(&setting), "{setting}");
    }
}

#[test]
fn every_setting_of_limits_is_on_the_page() {
    let page = page("limits.md");
    let limits = serde_json::to_value(Limits::default()).unwrap();
    for key in limits.as_object().unwrap().keys() {
        let name = key.trim_end_matches("_ms");
        assert!(
            page.contains(&format!("`{name}`")),
            "docs/limits.md has no {name}"
        );
    }
}

#[test]
fn the_example_is_valid() {
    let page = page("limits.md");
    let [block] = blocks(&page).try_into().unwrap();
    assert!(block.is("toml", "toolhost.toml"));
    let mut reader = Reader::new();
    reader.checks(&block);
}
