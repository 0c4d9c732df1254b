//! The limits of one call on process starts and handed-over bytes, over all capabilities.

use std::sync::atomic::{AtomicU64, Ordering};

use toolhost_call::audit::Trail;
use toolhost_call::metrics::LimitKind;

use crate::limits::Limits;

/// How many processes a call may start, and how many bytes it may hand over for files and processes.
#[derive(Debug)]
pub(crate) struct Allowance {
    trail: Trail,
    starts: Account,
    data: Account,
}

#[derive(Debug)]
struct Account {
    kind: LimitKind,
    most: u64,
    taken: AtomicU64,
}

impl Allowance {
    pub(crate) fn new(limits: &Limits, trail: &Trail) -> Self {
        let account = |kind, most| Account {
            kind,
            most,
            taken: AtomicU64::new(0),
        };
        Self {
            trail: trail.clone(),
            starts: account(LimitKind::ProcessStarts, limits.process_starts.into()),
            data: account(LimitKind::HostData, limits.host_data as u64),
        }
    }

    /// Takes the start of one process.
    ///
    /// # Errors
    ///
    /// The text for the guest, if it may start no more.
    pub(super) fn start(&self) -> Result<(), String> {
        self.take(&self.starts, 1)
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    ///
    /// The text for the guest, if there is no room for them.
    pub(super) fn hand(&self, bytes: usize) -> Result<(), String> {
        self.take(&self.data, bytes as u64)
    }

    fn take(&self, account: &Account, count: u64) -> Result<(), String> {
        let more =
            |taken: u64| Some(taken.saturating_add(count)).filter(|taken| *taken <= account.most);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = account.taken.fetch_update(set, fetch, more);
        taken.map(|_| ()).map_err(|_| {
            self.trail.limit(account.kind);
            account.kind.reached(account.most)
        })
    }
}
