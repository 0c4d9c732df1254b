//! `limits = { … }` of a plugin.

use std::time::Duration;

use serde::Deserialize;

use super::section::Section;
use super::values::{Size, Time};
use toolhost_plugin::{Ceiling, Limits};

/// Returns these limits, overridden by those of this section.
pub(super) fn read(mut section: Section<'_, '_>, mut limits: Limits) -> Limits {
    let most = Ceiling::default();
    let section = &mut section;
    size(section, "memory", &mut limits.memory);
    bounded(
        section,
        "table_elements",
        &mut limits.table_elements,
        most.table_elements,
    );
    number(section, "handles", &mut limits.handles);
    bounded(section, "instances", &mut limits.instances, most.instances);
    time(section, "guest_time", &mut limits.guest_time);
    time(section, "deadline", &mut limits.deadline);
    // A longer deadline of one plugin raises its own maximum.
    if !time(section, "max_deadline", &mut limits.max_deadline) {
        limits.max_deadline = limits.max_deadline.max(limits.deadline);
    }
    time(section, "cancel_grace", &mut limits.cancel_grace);
    size(section, "reply", &mut limits.reply);
    size(section, "log", &mut limits.log);
    size(section, "host_call_data", &mut limits.host_call_data);
    size(section, "host_data", &mut limits.host_data);
    bounded(
        section,
        "concurrent_calls",
        &mut limits.concurrent_calls,
        most.concurrent_calls,
    );
    number(section, "calls_per_chat", &mut limits.calls_per_chat);
    number(section, "process_starts", &mut limits.process_starts);
    number(section, "http_requests", &mut limits.http_requests);
    if let Some(Size(bytes)) = section.read("http_bytes") {
        limits.http_bytes = bytes;
    }
    number(section, "traps", &mut limits.traps);
    size(section, "component", &mut limits.component);
    time(section, "compile_time", &mut limits.compile_time);
    section.finish();
    limits
}

fn size(section: &mut Section<'_, '_>, key: &'static str, limit: &mut usize) {
    if let Some(Size(bytes)) = section.read(key) {
        match usize::try_from(bytes) {
            Ok(bytes) => *limit = bytes,
            Err(_) => section.wrong(key, "this is more than this machine can address"),
        }
    }
}

/// Sets the limit if the section has the key. Returns whether it has.
fn time(section: &mut Section<'_, '_>, key: &'static str, limit: &mut Duration) -> bool {
    let read = section.read(key).map(|Time(time)| *limit = time);
    read.is_some()
}

fn number<'t, T: Deserialize<'t>>(section: &mut Section<'t, '_>, key: &'static str, limit: &mut T) {
    if let Some(number) = section.expect(key, "a number that is not negative") {
        *limit = number;
    }
}

fn bounded(section: &mut Section<'_, '_>, key: &'static str, limit: &mut usize, most: usize) {
    number(section, key, limit);
    if *limit > most {
        section.wrong(key, format!("it can be {most} at most"));
    }
}
