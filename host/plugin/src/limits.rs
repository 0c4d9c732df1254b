//! Limits of a plugin. Every resource has a limit, and every limit has a default.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Serialize, Serializer};
use wasmtime::ResourceLimiter;

use super::engine::{CONCURRENT_CALLS, CORE_INSTANCES_PER_CALL};
use super::failure::Reached;
use super::guest_memory::Share;
use toolhost_call::metrics::LimitKind;

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

/// Keeps the memories, tables and instances of one store within the limits, the first two summed, and within the memory of all
/// guests together.
///
/// wasmtime's own `StoreLimits` counts each memory alone, so a component with ten memories would get ten times the limit.
#[derive(Debug)]
pub(super) struct Limiter {
    memory: Account,
    tables: Account,
    instances: usize,
    share: Share,
    /// The bytes of memory in use, shared with readers that do not have the store. Memory never shrinks, so it is also the
    /// peak.
    peak: Arc<AtomicUsize>,
}

/// A resource that is taken in steps and has a limit.
#[derive(Debug)]
struct Account {
    used: usize,
    limit: usize,
    refused: bool,
}

/// The bytes of one element of a table.
const TABLE_ELEMENT: usize = size_of::<usize>();

impl Limiter {
    pub(super) fn new(limits: &Limits, share: Share) -> Self {
        let account = |limit| Account {
            used: 0,
            limit,
            refused: false,
        };
        Self {
            memory: account(limits.memory),
            tables: account(limits.table_elements),
            instances: limits.instances,
            share,
            peak: Arc::default(),
        }
    }

    /// Returns the limit that refused a growth, for an error message. A guest that is refused memory mostly traps soon after.
    pub(super) fn refusal(&self) -> Option<Reached> {
        if self.memory.refused {
            Some(Reached::of(LimitKind::Memory, self.memory.limit))
        } else if self.tables.refused {
            Some(Reached::of(LimitKind::TableElements, self.tables.limit))
        } else {
            let limit = self.share.refusal()?;
            Some(Reached::of(LimitKind::MemoryInAll, limit).for_now())
        }
    }

    /// Returns the counter of the bytes of memory in use, for readers that do not have the store.
    pub(super) fn peak(&self) -> &Arc<AtomicUsize> {
        &self.peak
    }
}

impl Account {
    /// Takes the units that a growth needs. Returns `false` if the growth exceeds the limit, the guest's own or the pool's
    /// maximum, or the memory that is left for all guests. The number beside the share is the bytes of one unit.
    fn grow(
        &mut self,
        share: (&mut Share, usize),
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> bool {
        let more = desired.saturating_sub(current);
        let used = self.used.saturating_add(more);
        if used > self.limit {
            self.refused = true;
            return false;
        }
        // wasmtime would refuse this growth as well, but only after it was counted.
        let (share, unit) = share;
        let fits = maximum.is_none_or(|maximum| desired <= maximum)
            && share.grow(more.saturating_mul(unit));
        if fits {
            self.used = used;
        }
        fits
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fits = self
            .memory
            .grow((&mut self.share, 1), current, desired, maximum);
        self.peak.store(self.memory.used, Ordering::Relaxed);
        Ok(fits)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let share = (&mut self.share, TABLE_ELEMENT);
        Ok(self.tables.grow(share, current, desired, maximum))
    }

    fn instances(&self) -> usize {
        self.instances
    }
}

/// Returns a number of bytes for people: `64 MiB`, `100 bytes`.
pub(super) fn bytes(count: usize) -> String {
    toolhost_call::metrics::bytes(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::WASM_STACK;
    use crate::guest_memory::GuestMemory;

    fn limiter(limits: &Limits) -> Limiter {
        Limiter::new(limits, GuestMemory::new(usize::MAX).for_loading())
    }

    #[test]
    fn memories_are_summed() {
        let mut limiter = limiter(&Limits {
            memory: 100,
            ..Limits::default()
        });
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert_eq!(limiter.refusal(), None);
        assert!(!limiter.memory_growing(40, 41, None).unwrap());
        assert_eq!(
            limiter.refusal().unwrap().to_string(),
            "memory limit of 100 bytes reached"
        );
        assert_eq!(limiter.peak().load(Ordering::Relaxed), 100);
    }

    #[test]
    fn a_guests_own_maximum_is_no_limit_of_ours() {
        let mut limiter = limiter(&Limits::default());
        assert!(!limiter.memory_growing(0, 2, Some(1)).unwrap());
        assert!(!limiter.table_growing(0, 2, Some(1)).unwrap());
        assert_eq!(limiter.refusal(), None);
        assert!(!limiter.table_growing(0, usize::MAX, None).unwrap());
        assert_eq!(
            limiter.refusal().unwrap().to_string(),
            "limit of 100000 table elements reached"
        );
    }

    #[test]
    fn memories_and_tables_of_all_guests_are_summed() {
        let account = GuestMemory::new(WASM_STACK + 100);
        let share = account.reserve(0).unwrap();
        let mut limiter = Limiter::new(&Limits::default(), share);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.table_growing(0, 40 / TABLE_ELEMENT, None).unwrap());
        assert_eq!(limiter.refusal(), None);
        assert!(!limiter.memory_growing(60, 61, None).unwrap());
        assert_eq!(limiter.peak().load(Ordering::Relaxed), 60);
        assert_eq!(
            limiter.refusal().unwrap().to_string(),
            format!(
                "limit of {} of memory of all calls at the same time reached; try again later",
                bytes(account.limit())
            )
        );
        drop(limiter);
        assert_eq!(account.taken(), 0);
    }
}
