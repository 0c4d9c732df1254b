//! Staged changes on their way into the database: those of this host, and those that an earlier host left.

use std::sync::atomic::Ordering;

use super::calls::find;
use super::clock::Moment;
use super::core::Core;
use super::fault::Fault;
use super::stage_file::{Change, Dated, Staged};
use super::staging::{Batch, StagedCall, StagedProcess};
use super::witness::Key;

/// The failures after which the rest of a batch is left for later: the disk takes nothing, and callers wait meanwhile.
const TRIES: usize = 16;

/// The changes of a batch that were not committed.
#[derive(Debug, Default)]
pub(super) struct Uncommitted {
    /// The changes that can be tried again.
    pub(super) left: Batch,
    /// The calls that cannot be stored, because the database is damaged.
    pub(super) lost: Vec<Key>,
    /// Whether some change, of a call or of a process, cannot be stored for that reason.
    pub(super) has_damage: bool,
    /// Why the first of the changes in `left` failed.
    pub(super) fault: Option<Fault>,
}

/// A change of a batch.
#[derive(Clone, Copy, Debug)]
enum One<'a> {
    Call(&'a Key, &'a StagedCall),
    Process(&'a StagedProcess),
}

impl One<'_> {
    fn store(self, core: &mut Core) -> Result<(), Fault> {
        match self {
            Self::Call(_, call) => core.store_call(call),
            Self::Process(process) => core.store_process(process),
        }
    }

    /// Returns roughly how many bytes the database needs for the change.
    fn bytes(self) -> usize {
        match self {
            Self::Call(_, call) => call.bytes(),
            Self::Process(staged) => staged.process.command.len(),
        }
    }

    fn keep_in(self, left: &mut Batch) {
        match self {
            Self::Call(key, call) => left.add_call(*key, call.clone()),
            Self::Process(process) => left.processes.push(process.clone()),
        }
    }
}

/// Returns the changes of a batch: its calls, and then its processes.
fn changes(batch: &Batch) -> Vec<One<'_>> {
    let calls = batch.calls().into_iter();
    let calls = calls.map(|(key, call)| One::Call(key, call));
    calls
        .chain(batch.processes.iter().map(One::Process))
        .collect()
}

impl Core {
    /// Commits a batch in one transaction. If that fails, each change is tried in a transaction of its own, so that a large outcome that
    /// finds no room takes no other change with it.
    pub(super) fn commit_staged(&mut self, batch: &Batch) -> Uncommitted {
        let mut changes = changes(batch);
        self.metrics
            .changes
            .fetch_add(changes.len() as u64, Ordering::Relaxed);
        let mut uncommitted = Uncommitted::default();
        if self.transact(|core| core.store_all(batch)).is_ok() {
            return uncommitted;
        }
        // If the disk has little room, the small changes find it.
        changes.sort_by_key(|one| one.bytes());
        for one in changes {
            if uncommitted.left.len() >= TRIES {
                one.keep_in(&mut uncommitted.left);
                continue;
            }
            let Err(fault) = self.transact(|core| one.store(core)) else {
                continue;
            };
            self.metrics.failures.fetch_add(1, Ordering::Relaxed);
            if fault.is_damage() {
                self.metrics.damage(&fault);
                uncommitted.has_damage = true;
                if let One::Call(key, _) = one {
                    uncommitted.lost.push(*key);
                }
            } else {
                one.keep_in(&mut uncommitted.left);
                uncommitted.fault.get_or_insert(fault);
            }
        }
        uncommitted
    }

    /// Stores all changes of a batch, within a transaction.
    pub(super) fn store_all(&mut self, batch: &Batch) -> Result<(), Fault> {
        changes(batch).iter().try_for_each(|one| one.store(self))
    }

    fn store_call(&mut self, call: &StagedCall) -> Result<(), Fault> {
        match (&call.begun, &call.ended) {
            (_, Some(ended)) if call.is_new => self.begin_and_end(ended, call.changed),
            (_, Some(ended)) => self.end(ended, call.changed),
            (Some(begun), None) => self.begin(begun, call.changed, true).map(drop),
            (None, None) => Ok(()),
        }
    }

    fn store_process(&mut self, staged: &StagedProcess) -> Result<(), Fault> {
        match staged.is_new {
            true => self.add_process(&staged.process),
            false => self.update_processes(std::slice::from_ref(&staged.process)),
        }
    }

    /// Stores the changes that an earlier host staged and may not have committed. Those that the database has already change nothing.
    pub(super) fn replay(&mut self, staged: &Staged) -> Result<(), Fault> {
        self.transact(|core| core.replay_each(staged))?;
        // The calls ran in the earlier host, not in this one.
        self.open.clear();
        self.running.lock().clear();
        self.metrics.open.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Does what [`Core::replay`] does, within a transaction.
    pub(super) fn replay_each(&mut self, staged: &Staged) -> Result<(), Fault> {
        if staged.is_damaged {
            tracing::warn!(path = %self.path.display(), "the last changes of the earlier host are damaged or incomplete: calls that they named are unknown");
        }
        for Dated { wall, change } in &staged.changes {
            let now = self.clock.moment();
            // A call has ended when it did, however late the database hears of it.
            let wall = wall.unwrap_or(now.wall);
            match self.replay_one(change, Moment { wall, ..now }) {
                Err(fault) if fault.is_damage() => self.metrics.damage(&fault),
                done => done?,
            }
        }
        Ok(())
    }

    fn replay_one(&mut self, change: &Change<'_>, moment: Moment) -> Result<(), Fault> {
        match change {
            Change::Begin(call) => {
                let known = find(&self.connection, call.chat.as_str(), call.call.as_str())?;
                if known.is_none() {
                    self.begin(call, moment, false)?;
                }
                Ok(())
            }
            Change::End(ended) => {
                let call = &ended.call;
                let known = find(&self.connection, call.chat.as_str(), call.call.as_str())?;
                if known.is_none_or(|row| !row.has_ended()) {
                    self.end(ended, moment)?;
                }
                Ok(())
            }
            Change::AddProcess(process) if !self.has_process(&process.id)? => {
                self.add_process(process)
            }
            Change::AddProcess(process) | Change::UpdateProcess(process) => {
                self.update_processes(std::slice::from_ref(process.as_ref()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
