//! The limiter of one store, which enforces the limits of its plugin and the limit on the memory of all guests together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wasmtime::ResourceLimiter;

use super::guest_memory::Share;
use super::limits::Limits;
use super::reached::Reached;
use toolhost_call::metrics::LimitKind;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest_memory::GuestMemory;
    use crate::limits::{WASM_STACK, bytes};

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
