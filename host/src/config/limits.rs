//! `limits = { … }` of a plugin.

use serde::Deserialize;

use super::values::{Size, Time};
use crate::plugin::{Ceiling, Limits};

/// Limits that differ from the default ones.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    memory: Option<Size>,
    table_elements: Option<usize>,
    handles: Option<usize>,
    instances: Option<usize>,
    guest_time: Option<Time>,
    deadline: Option<Time>,
    max_deadline: Option<Time>,
    cancel_grace: Option<Time>,
    reply: Option<Size>,
    log: Option<Size>,
    host_call_data: Option<Size>,
    host_data: Option<Size>,
    concurrent_calls: Option<usize>,
    calls_per_chat: Option<usize>,
    process_starts: Option<u32>,
    http_requests: Option<u32>,
    http_bytes: Option<Size>,
    traps: Option<u32>,
    component: Option<Size>,
    compile_time: Option<Time>,
}

impl LimitsTable {
    /// Returns the default limits with these in their place.
    pub(super) fn limits(&self) -> Result<Limits, String> {
        fn set<T, U: From<T>>(limit: &mut U, value: Option<T>) {
            if let Some(value) = value {
                *limit = value.into();
            }
        }
        let mut limits = Limits::default();
        set(&mut limits.memory, size(self.memory, "memory")?);
        set(&mut limits.table_elements, self.table_elements);
        set(&mut limits.handles, self.handles);
        set(&mut limits.instances, self.instances);
        set(&mut limits.guest_time, self.guest_time.map(|time| time.0));
        set(&mut limits.deadline, self.deadline.map(|time| time.0));
        set(
            &mut limits.max_deadline,
            self.max_deadline.map(|time| time.0),
        );
        set(
            &mut limits.cancel_grace,
            self.cancel_grace.map(|time| time.0),
        );
        set(&mut limits.reply, size(self.reply, "reply")?);
        set(&mut limits.log, size(self.log, "log")?);
        let host_call_data = size(self.host_call_data, "host_call_data")?;
        set(&mut limits.host_call_data, host_call_data);
        set(&mut limits.host_data, size(self.host_data, "host_data")?);
        set(&mut limits.concurrent_calls, self.concurrent_calls);
        set(&mut limits.calls_per_chat, self.calls_per_chat);
        set(&mut limits.process_starts, self.process_starts);
        set(&mut limits.http_requests, self.http_requests);
        set(&mut limits.http_bytes, self.http_bytes.map(|size| size.0));
        set(&mut limits.traps, self.traps);
        set(&mut limits.component, size(self.component, "component")?);
        set(
            &mut limits.compile_time,
            self.compile_time.map(|time| time.0),
        );
        // A longer deadline of one plugin is meant as such, whatever the most is elsewhere.
        if self.max_deadline.is_none() {
            limits.max_deadline = limits.max_deadline.max(limits.deadline);
        }
        let most = Ceiling::default();
        for (name, value, most) in [
            ("table_elements", limits.table_elements, most.table_elements),
            ("instances", limits.instances, most.instances),
            (
                "concurrent_calls",
                limits.concurrent_calls,
                most.concurrent_calls,
            ),
        ] {
            if value > most {
                return Err(format!("limits.{name} can be {most} at most"));
            }
        }
        Ok(limits)
    }
}

fn size(size: Option<Size>, name: &str) -> Result<Option<usize>, String> {
    let size = size.map(|size| usize::try_from(size.0)).transpose();
    size.map_err(|_| format!("limits.{name} is more than this machine can address"))
}
