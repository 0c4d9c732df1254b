//! The effects of a call: whether the host may still turn it away.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use toolhost_call::call::Refused;

/// Whether a call may have changed something. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    any: AtomicBool,
    turned_away: OnceLock<Refused>,
}

/// The error that ends the guest of a call that is turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub(crate) struct TurnedAway(pub(crate) Refused);

impl Effects {
    /// Notes that the call may have changed something.
    pub(crate) fn note(&self) {
        self.inner.any.store(true, Ordering::Relaxed);
    }

    /// Turns the call away, because the machine is short of something or the workspace cannot be reached, and returns the error for its
    /// guest. Returns `None` if the call may have changed something: then its guest has to be told.
    pub(crate) fn turn_away(&self, reason: Refused) -> Option<TurnedAway> {
        if self.inner.any.load(Ordering::Relaxed) {
            return None;
        }
        let reason = self.inner.turned_away.get_or_init(|| reason);
        Some(TurnedAway(reason.clone()))
    }

    /// Returns why the call was turned away, if it was.
    pub(crate) fn turned_away(&self) -> Option<&Refused> {
        self.inner.turned_away.get()
    }
}
