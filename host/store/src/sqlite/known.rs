//! Known calls: a filter in memory that has every call of the database, so that most new calls need no look-up there.
//!
//! A thread reads the calls of an earlier host into the filter. Until it has all of them, look-ups go to the database. If the filter is
//! full, the thread makes a larger one, without the calls that were forgotten.

use std::sync::mpsc::SyncSender;

use parking_lot::Mutex;

use super::bloom::Bloom;
use super::witness::Key;

/// The least calls for which a filter has room, in 420 KB.
const LEAST: u64 = 1 << 18;

/// The calls that the database may have, as far as they are known in memory.
#[derive(Debug, Default)]
pub(super) struct Known {
    filters: Mutex<Filters>,
}

#[derive(Debug, Default)]
struct Filters {
    /// The filter that has every call of the database, if there is one.
    whole: Option<Bloom>,
    /// The filter into which the calls of the database are being read.
    partial: Option<Bloom>,
    /// Wakes the thread that makes a filter; `None` if there is none, or if the store is being closed.
    wake: Option<SyncSender<()>>,
}

impl Known {
    /// Asks for a filter, now and whenever the present one is full.
    pub(super) fn begin(&self, wake: SyncSender<()>) {
        let filters = &mut *self.filters.lock();
        // The thread has yet to look whether the store is being closed.
        _ = filters.wake.insert(wake).try_send(());
    }

    /// Ends the thread that makes filters.
    pub(super) fn close(&self) {
        self.filters.lock().wake = None;
    }

    /// Returns whether the thread that makes filters should end.
    pub(super) fn is_closed(&self) -> bool {
        self.filters.lock().wake.is_none()
    }

    /// Adds a call. This comes before the database gets the call.
    pub(super) fn add(&self, key: &Key) {
        let filters = &mut *self.filters.lock();
        if let Some(partial) = &mut filters.partial {
            partial.add(key);
        }
        let Some(whole) = &mut filters.whole else {
            return;
        };
        whole.add(key);
        if whole.is_full()
            && filters.partial.is_none()
            && let Some(wake) = &filters.wake
        {
            // If it was asked for already, that is enough.
            _ = wake.try_send(());
        }
    }

    /// Adds calls that were read to the filter that is being made.
    pub(super) fn add_read(&self, keys: &[Key]) {
        if let Some(partial) = &mut self.filters.lock().partial {
            keys.iter().for_each(|key| partial.add(key));
        }
    }

    /// Returns whether the database certainly does not have a call.
    pub(super) fn lacks(&self, key: &Key) -> bool {
        let filters = self.filters.lock();
        let whole = filters.whole.as_ref();
        whole.is_some_and(|whole| !whole.may_have(key))
    }

    /// Begins a filter with room for twice this many calls. From now on, it gets all calls that are added.
    pub(super) fn begin_filter(&self, calls: u64) {
        let room = calls.saturating_mul(2).max(LEAST);
        self.filters.lock().partial = Some(Bloom::with_room(room));
    }

    /// Uses the filter that was begun, because it has all calls.
    pub(super) fn use_filter(&self) {
        let filters = &mut *self.filters.lock();
        filters.whole = filters.partial.take();
    }

    /// Drops the filter that was begun. The earlier one, if any, stays in use.
    pub(super) fn drop_filter(&self) {
        self.filters.lock().partial = None;
    }
}
