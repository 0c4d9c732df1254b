//! Limits of a plugin. Every resource has a limit, and every limit has a default.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// The most calls of all plugins at the same time. More are refused as busy.
pub(super) const CONCURRENT_CALLS: usize = 256;

/// The stack of a guest, in bytes. An interpreter in a guest, such as that of scripts, needs some 700 for each call of a function.
pub(super) const WASM_STACK: usize = 1 << 20;

/// Core instances of one call. A Python component has up to 38.
pub(super) const CORE_INSTANCES_PER_CALL: u32 = 64;

/// The longest name of a plugin, in bytes: with the name of a tool it stays below the 64 of model providers.
pub(super) const MAX_PLUGIN_NAME: usize = 31;

/// The most tools of one plugin: about as many as providers take of all plugins.
pub(super) const MAX_TOOLS: usize = 128;

/// The limits of one plugin. Each limit is per call unless its text says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Linear memory in bytes, summed over all memories of the call; 64 MiB.
    pub memory: usize,
    /// Table elements, summed over all tables of the call; 100,000.
    pub table_elements: usize,
    /// Live handles of resources; 1,000.
    pub handles: usize,
    /// CPU time of the guest and of the host calls that it makes, without waits; 2 s.
    #[serde(rename = "guest_time_ms", serialize_with = "milliseconds")]
    pub guest_time: Duration,
    /// Wall-clock time of a call, unless its tool names a longer time; 10 min.
    #[serde(rename = "deadline_ms", serialize_with = "milliseconds")]
    pub deadline: Duration,
    /// Wall-clock time of any call, even if its tool names a longer time; 1 h.
    #[serde(rename = "max_deadline_ms", serialize_with = "milliseconds")]
    pub max_deadline: Duration,
    /// Wall-clock time for a cancelled call to reply with its partial result; 2 s.
    #[serde(rename = "cancel_grace_ms", serialize_with = "milliseconds")]
    pub cancel_grace: Duration,
    /// Bytes of a reply; 1 MiB.
    pub reply: usize,
    /// Bytes of log lines; 64 KiB.
    pub log: usize,
    /// Bytes that one crossing from the guest to the host may carry; 8 MiB.
    pub host_call_data: usize,
    /// Bytes that one call may hand to the host for files and processes, summed over all calls into the host: contents of
    /// files, commands and their input; 64 MiB.
    pub host_data: usize,
    /// Calls of the plugin at the same time; 128. More are refused as busy.
    pub concurrent_calls: usize,
    /// Calls of the plugin by one chat at the same time; 16. More are refused as busy.
    pub calls_per_chat: usize,
    /// Core instances of one call; 64. A Python component has up to 38.
    pub instances: usize,
    /// Processes that one call may start, including failed starts; 32.
    pub process_starts: u32,
    /// HTTP requests that one call may send; 100.
    pub http_requests: u32,
    /// Bytes of all HTTP requests and responses of one call, their headers included; 16 MiB.
    pub http_bytes: u64,
    /// Traps in a row after which the host pauses the plugin, first for a second and then twice as long each time, up to 5 min;
    /// 5. With 0, the host never pauses the plugin.
    pub traps: u32,
    /// Bytes of the component; 64 MiB.
    pub component: usize,
    /// CPU time of compiling the component, of all cores together, in whole seconds; 3 min. A component of Python takes half a
    /// minute. A compilation that takes 20 times as long on the wall, and at least 10 min, hangs and is given up. A program that
    /// embeds the library without `Builder::compiler` has only that second limit.
    #[serde(rename = "compile_time_ms", serialize_with = "milliseconds")]
    pub compile_time: Duration,
}

impl Limits {
    /// Returns the limits by their names in records: bytes and numbers, and times in milliseconds.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        // Every field serializes to a number.
        let fields = serde_json::to_value(self).unwrap_or_default();
        serde_json::from_value(fields).unwrap_or_default()
    }
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            table_elements: 100_000,
            handles: 1_000,
            guest_time: Duration::from_secs(2),
            deadline: Duration::from_secs(10 * 60),
            max_deadline: Duration::from_secs(60 * 60),
            cancel_grace: Duration::from_secs(2),
            reply: 1 << 20,
            log: 64 << 10,
            host_call_data: 8 << 20,
            host_data: 64 << 20,
            concurrent_calls: 128,
            calls_per_chat: 16,
            instances: 64,
            process_starts: 32,
            http_requests: 100,
            http_bytes: 16 << 20,
            traps: 5,
            component: 64 << 20,
            compile_time: Duration::from_secs(3 * 60),
        }
    }
}

/// The most that some limits can be set to, because the pool of instances is made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// See [`Limits::table_elements`].
    pub table_elements: usize,
    /// See [`Limits::instances`].
    pub instances: usize,
    /// See [`Limits::concurrent_calls`].
    pub concurrent_calls: usize,
}

impl Default for Ceiling {
    fn default() -> Self {
        Self {
            table_elements: Limits::default().table_elements,
            instances: CORE_INSTANCES_PER_CALL as usize,
            concurrent_calls: CONCURRENT_CALLS,
        }
    }
}

/// Returns a number of bytes for people: `64 MiB`, `100 bytes`.
pub(super) fn bytes(count: usize) -> String {
    toolhost_call::metrics::bytes(count as u64)
}
