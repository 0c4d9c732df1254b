//! Staged changes that the disk does not take: other changes go on, and lists show them.

use std::collections::HashSet;
use std::io;

use rusqlite::Connection;

use super::core::Core;
use super::fault::Fault;
use super::witness::{Key, key};

/// The calls and processes whose staged changes could not be committed. A later change of one of them must wait for the earlier one.
#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) calls: HashSet<Key>,
    pub(super) processes: HashSet<String>,
    /// Why a change was not committed.
    pub(super) fault: Fault,
}

impl Core {
    /// Fails if a staged change of this call could not be committed.
    pub(super) fn require_call(&self, chat: &str, call: &str) -> Result<(), Fault> {
        match &self.blocked {
            Some(blocked) if blocked.calls.contains(&key(chat, call)) => Err(blocked.fault.again()),
            _ => Ok(()),
        }
    }

    /// Fails if a staged change of this process could not be committed.
    pub(super) fn require_process(&self, id: &str) -> Result<(), Fault> {
        match &self.blocked {
            Some(blocked) if blocked.processes.contains(id) => Err(blocked.fault.again()),
            _ => Ok(()),
        }
    }

    /// Reads what the database would have if it took the staged changes. They are made in a transaction that is rolled back. SQLite keeps
    /// its pages in memory, so the disk may be full or read-only.
    pub(super) fn preview<T>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let staging = self.staging.as_ref().map(|staging| staging.lock());
        let batches: Vec<_> = staging
            .iter()
            .flat_map(|one| one.batches().cloned())
            .collect();
        drop(staging);
        let (mut found, next) = (None, self.next);
        self.connection.pragma_update(None, "cache_spill", false)?;
        let undone = self.transact(|core| {
            let mut batches = batches.iter();
            batches.try_for_each(|batch| core.store_all(batch))?;
            found = Some(read(&core.connection));
            Err::<(), _>(Fault::Io(io::Error::other("the transaction is a preview")))
        });
        self.connection.pragma_update(None, "cache_spill", true)?;
        self.next = next;
        match (found, undone) {
            (Some(found), _) => found,
            (None, Err(fault)) => Err(fault),
            (None, Ok(())) => Err(Fault::Io(io::Error::other(
                "the changes were not previewed",
            ))),
        }
    }
}
