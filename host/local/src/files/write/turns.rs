//! Turns: who edits one file at the same time does it one after the other.
//!
//! Without them, all writers of a file but one would sync a new version that is refused.

use std::collections::BTreeSet;
use std::ffi::OsString;

use parking_lot::{Condvar, Mutex};

/// The device and the inode of a directory, and a name in it.
type Key = (u64, u64, OsString);

/// The files whose next version is being prepared.
#[derive(Debug, Default)]
pub(in crate::files) struct Turns {
    taken: Mutex<BTreeSet<Key>>,
    given_back: Condvar,
}

/// A turn at a file, until it is dropped.
#[derive(Debug)]
pub(in crate::files) struct Turn<'a> {
    turns: &'a Turns,
    key: Key,
}

impl Turns {
    /// Waits for the turn at a file. A thread must have no other turn.
    pub(super) fn take(&self, key: Key) -> Turn<'_> {
        let mut taken = self.taken.lock();
        while !taken.insert(key.clone()) {
            self.given_back.wait(&mut taken);
        }
        Turn { turns: self, key }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.taken.lock().remove(&self.key);
        self.turns.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_turn_is_over_when_it_is_dropped() {
        let key = |name: &str| (1, 2, OsString::from(name));
        let turns = Turns::default();
        let first = turns.take(key("a"));
        drop(turns.take(key("b")));
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = turns.take(key("a"));
                sender.send(()).unwrap();
            });
            assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
            drop(first);
            receiver.recv().unwrap();
        });
        assert!(turns.taken.lock().is_empty());
    }
}
