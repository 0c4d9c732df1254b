//! The memory of all guests together: one account, of which each call has a share.
//!
//! A share counts linear memory, tables and the stack. A call reserves what its plugin needs to begin, so that a call for which
//! there is no room is refused before it runs. A growth beyond the reserved bytes is taken from the account when it happens,
//! and fails if the account has no room for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::limits::WASM_STACK;

/// The account.
#[derive(Debug)]
pub(super) struct GuestMemory {
    taken: AtomicUsize,
    limit: AtomicUsize,
}

/// The part of the account that one guest holds. Dropping it gives everything back.
#[derive(Debug)]
pub(super) struct Share {
    account: Arc<GuestMemory>,
    /// Bytes taken from the account.
    taken: usize,
    /// Bytes in use; never more than `taken`.
    used: usize,
    /// Whether the account may refuse a growth.
    bounded: bool,
    refused: bool,
}

impl GuestMemory {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            taken: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
        })
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Returns how many bytes all shares hold.
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Reserves the stack of a call and this many bytes; `None` if the account has no room for them.
    pub(super) fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        let mut share = self.share(true);
        let reserved = share.grow(WASM_STACK.saturating_add(bytes));
        share.used = WASM_STACK;
        reserved.then_some(share)
    }

    /// Returns a share that is counted and never refused, for a guest that the host asks for its tools: the operator loads
    /// plugins, and few are loaded at once.
    pub(super) fn for_loading(self: &Arc<Self>) -> Share {
        let mut share = self.share(false);
        share.grow(WASM_STACK);
        share
    }

    fn share(self: &Arc<Self>, bounded: bool) -> Share {
        Share {
            account: Arc::clone(self),
            taken: 0,
            used: 0,
            bounded,
            refused: false,
        }
    }

    fn take(&self, bytes: usize, most: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= most);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        bytes == 0 || self.taken.fetch_update(set, fetch, more).is_ok()
    }
}

impl Share {
    /// Takes this number of bytes, first from the reserved ones. Returns whether there was room.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let used = self.used.saturating_add(bytes);
        let missing = used.saturating_sub(self.taken);
        let most = match self.bounded {
            true => self.account.limit(),
            false => usize::MAX,
        };
        if !self.account.take(missing, most) {
            self.refused = true;
            return false;
        }
        self.taken += missing;
        self.used = used;
        true
    }

    /// Returns the limit of the account if it refused a growth.
    pub(super) fn refusal(&self) -> Option<usize> {
        self.refused.then(|| self.account.limit())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.account.taken.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_takes_what_is_reserved_first_and_gives_everything_back() {
        let account = GuestMemory::new(2 * WASM_STACK + 150);
        let mut one = account.reserve(100).unwrap();
        assert_eq!(account.taken(), WASM_STACK + 100);
        assert!(account.reserve(51).is_none());
        assert_eq!(account.taken(), WASM_STACK + 100);
        let mut other = account.reserve(0).unwrap();
        assert!(one.grow(60) && one.grow(40));
        assert_eq!(account.taken(), 2 * WASM_STACK + 100);
        assert!(!other.grow(51) && other.grow(50));
        assert_eq!(
            (one.refusal(), other.refusal()),
            (None, Some(account.limit()))
        );
        assert!(!one.grow(1));
        drop(other);
        assert!(one.grow(1));
        drop(one);
        assert_eq!(account.taken(), 0);
    }

    #[test]
    fn loading_is_counted_and_never_refused() {
        let account = GuestMemory::new(0);
        let mut share = account.for_loading();
        assert!(share.grow(1000));
        assert_eq!(account.taken(), WASM_STACK + 1000);
        assert!(account.reserve(0).is_none());
    }
}
