//! Staging: beginnings and ends of calls, and changes of processes, on their way into the database.
//!
//! A commit takes many times longer than an append to a file. A change is therefore appended to a file, which survives the end of the
//! host, and the database takes all changes of some milliseconds in one transaction. Before the database is listed, or changed in
//! another way, it takes the staged changes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;
use toolhost_state::state_dir::StateDir;

use super::blocked::Blocked;
use super::calls::find;
use super::clock::{Clock, Moment};
use super::fault::Fault;
use super::known::Known;
use super::stage_commit::Uncommitted;
use super::stage_file::{Change, FILES, StageFile};
use super::witness::{Key, Witness, key};
use crate::{Begun, Call, CallState, EndedCall, NewCall, Process};

/// The size in bytes from which an outcome is committed at once, because it would be written twice otherwise.
const LARGE: usize = 64 << 10;

/// The bytes of staged outcomes and arguments beyond which a change waits for their commit.
pub(super) const FULL: usize = 4 << 20;

/// The bytes of staged outcomes and arguments beyond which they are committed at once.
const MUCH: usize = 1 << 20;

/// The most ids that are remembered because the database does not have them.
const ABSENT: usize = 1024;

/// The staged changes of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct StagedCall {
    /// The place of the call among those of its batch.
    place: usize,
    /// Whether the database does not have the call.
    pub(super) is_new: bool,
    /// The beginning of a new call, until its end is staged.
    pub(super) begun: Option<NewCall>,
    pub(super) ended: Option<EndedCall>,
    /// When it last changed.
    pub(super) changed: Moment,
}

impl StagedCall {
    /// Returns the bytes of its outcome and of its arguments.
    pub(super) fn bytes(&self) -> usize {
        let ended = self.ended.as_ref();
        let call = ended.map(|ended| &ended.call).or(self.begun.as_ref());
        let arguments = call.and_then(|call| call.arguments.as_ref());
        ended.map_or(0, |ended| ended.outcome.len()) + arguments.map_or(0, String::len)
    }
}

/// The staged change of a process.
#[derive(Clone, Debug)]
pub(super) struct StagedProcess {
    pub(super) process: Process,
    /// Whether the database does not have the process yet.
    pub(super) is_new: bool,
}

/// Changes that are committed together.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    calls: HashMap<Key, StagedCall>,
    /// The processes, in the order of their first changes.
    pub(super) processes: Vec<StagedProcess>,
    /// The bytes of outcomes and arguments.
    bytes: usize,
}

impl Batch {
    /// Returns whether nothing is staged.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.processes.is_empty()
    }

    /// Returns how many calls and processes are staged.
    pub(super) fn len(&self) -> usize {
        self.calls.len() + self.processes.len()
    }

    /// Returns the calls, in the order of their first changes.
    pub(super) fn calls(&self) -> Vec<(&Key, &StagedCall)> {
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_unstable_by_key(|(_, call)| call.place);
        calls
    }

    /// Adds a call with its changes.
    pub(super) fn add_call(&mut self, key: Key, call: StagedCall) {
        self.calls.insert(key, call);
    }

    fn call(&mut self, key: Key, now: Moment) -> &mut StagedCall {
        let place = self.calls.len();
        let new = || StagedCall {
            place,
            ..StagedCall::default()
        };
        let call = self.calls.entry(key).or_insert_with(new);
        call.changed = now;
        call
    }
}

/// Commits the staged changes, as far as the database takes them. Others can be staged meanwhile, and may be left. Returns why a change
/// was not committed.
pub(super) fn commit(
    staging: &Mutex<Staging>,
    mut commit: impl FnMut(&Batch) -> Uncommitted,
) -> Option<Fault> {
    // The first batch may be one that could not be committed before. Under load, there would always be another.
    for _ in 0..2 {
        let batch = staging.lock().take()?;
        let uncommitted = commit(&batch);
        if let Some(fault) = staging.lock().settle(uncommitted) {
            return Some(fault);
        }
    }
    None
}

/// How a call is to be looked up.
#[derive(Debug)]
pub(super) enum LookUp {
    /// The call is staged.
    Staged(Box<Call>),
    /// Neither the staged changes nor the database have the call.
    Absent,
    /// The call is not staged, and the database may have it. The number says when that was found out.
    Database(u64),
}

/// The changes that the database does not have yet.
#[derive(Debug)]
pub(super) struct Staging {
    files: [StageFile; 2],
    /// The file that takes changes.
    current: usize,
    /// The number of the next change.
    next: u64,
    waiting: Batch,
    /// The batch that is being committed, or could not be.
    committing: Option<Arc<Batch>>,
    /// Whether the last commit failed: then changes go to the database at once, so that each caller learns whether its own is stored.
    has_failed: bool,
    /// Ids that were looked up and that the database does not have.
    absent: HashSet<Key>,
    /// How often calls have become known to the database since the start, in any way.
    generation: u64,
    /// Calls that the database did not take because it is damaged.
    lost: HashSet<Key>,
    /// The calls that the database has or is about to have.
    known: Arc<Known>,
    /// Whether the database did not take a change because it is damaged. From then on, changes go to the database at once.
    has_damage: bool,
    witness: Arc<Mutex<Witness>>,
    clock: Clock,
    /// The connection on which a beginning is looked up, until the store is closed.
    reader: Option<Connection>,
}

impl Staging {
    /// Opens the files, of which the database has all changes.
    pub(super) fn open(
        directory: &StateDir,
        reader: Connection,
        (witness, known, clock): (Arc<Mutex<Witness>>, Arc<Known>, Clock),
    ) -> std::io::Result<Self> {
        let [one, other] = FILES;
        Ok(Self {
            files: [
                StageFile::open(directory, one)?,
                StageFile::open(directory, other)?,
            ],
            current: 0,
            next: 0,
            waiting: Batch::default(),
            committing: None,
            has_failed: false,
            absent: HashSet::new(),
            generation: 0,
            lost: HashSet::new(),
            known,
            has_damage: false,
            witness,
            clock,
            reader: Some(reader),
        })
    }

    /// Stages the beginning of a call whose id was not seen. Returns the answer; `None` if the database has to decide.
    pub(super) fn begin(&mut self, call: &NewCall) -> Option<Begun> {
        let key = key(call.chat.as_str(), call.call.as_str());
        if self.lost.contains(&key) {
            return Some(Begun::Unknown);
        }
        if self.has_failed
            && let Some(staged) = self.staged(&key)
        {
            return Some(staged.answer(&call.digest));
        }
        if !self.may_stage() || self.has(&key) || !self.is_absent(call, &key) {
            return None;
        }
        let now = self.clock.moment();
        self.append(now, &Change::Begin(Cow::Borrowed(call)))?;
        // Only now: the witness names no call that did not begin.
        self.witness.lock().add(&[key]);
        self.known.add(&key);
        self.waiting.bytes += call.arguments.as_ref().map_or(0, String::len);
        let staged = self.waiting.call(key, now);
        (staged.is_new, staged.begun) = (true, Some(call.clone()));
        Some(Begun::New)
    }

    /// Stages the end of a call, or returns `None`.
    pub(super) fn end(&mut self, ended: &EndedCall) -> Option<()> {
        let key = key(ended.call.chat.as_str(), ended.call.call.as_str());
        if !self.may_stage() || ended.outcome.len() > LARGE {
            return None;
        }
        let now = self.clock.moment();
        self.append(now, &Change::End(Cow::Borrowed(ended)))?;
        self.absent.remove(&key);
        self.known.add(&key);
        self.waiting.bytes += ended.outcome.len();
        let staged = self.waiting.call(key, now);
        // The end has everything that the beginning had.
        (staged.begun, staged.ended) = (None, Some(ended.clone()));
        Some(())
    }

    /// Stages a process that is new, or that has changed, or returns `None`.
    pub(super) fn put_process(&mut self, process: &Process, is_new: bool) -> Option<()> {
        let change = match is_new {
            true => Change::AddProcess(Cow::Borrowed(process)),
            false => Change::UpdateProcess(Cow::Borrowed(process)),
        };
        if !self.may_stage() {
            return None;
        }
        self.append(self.clock.moment(), &change)?;
        let process = process.clone();
        let staged = &mut self.waiting.processes;
        match staged.iter_mut().find(|one| one.process.id == process.id) {
            Some(one) => {
                one.process = process;
                one.is_new |= is_new;
            }
            None => staged.push(StagedProcess { process, is_new }),
        }
        Some(())
    }

    /// Says how a call is to be looked up.
    pub(super) fn look_up(&self, key: &Key) -> LookUp {
        match self.staged(key) {
            Some(staged) => LookUp::Staged(Box::new(staged)),
            None if self.known.lacks(key) => LookUp::Absent,
            None => LookUp::Database(self.generation),
        }
    }

    /// Notes that the database does not have a call, unless that may have changed since [`Staging::look_up`] gave this generation. Returns
    /// whether the call is lost: then nothing can be said of it.
    pub(super) fn note_absent(&mut self, key: Key, generation: u64) -> bool {
        if self.lost.contains(&key) {
            return true;
        }
        if generation == self.generation && !self.has(&key) {
            if self.absent.len() >= ABSENT {
                self.absent.clear();
            }
            self.absent.insert(key);
        }
        false
    }

    /// Forgets what was looked up, because the database is about to be changed in another way.
    pub(super) fn forget_absent(&mut self) {
        self.generation += 1;
        self.absent.clear();
    }

    /// Returns the keys of the calls that the database does not have yet, or did not take.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        let staged = self.batches().flat_map(|batch| batch.calls.keys());
        staged.chain(&self.lost).copied()
    }

    /// Returns the calls and processes of all staged changes. The fault says why the changes were not committed.
    pub(super) fn blocked(&self, fault: Fault) -> Blocked {
        let processes = self.batches().flat_map(|batch| &batch.processes);
        Blocked {
            calls: self.keys().collect(),
            processes: processes.map(|one| one.process.id.clone()).collect(),
            fault,
        }
    }

    /// Returns whether no change waits for a commit that has yet to begin.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether nothing is staged.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.committing.is_none()
    }

    /// Returns whether so much is staged that it should be committed now.
    pub(super) fn is_much(&self) -> bool {
        self.waiting.bytes > MUCH
    }

    /// Returns whether the last commit failed.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Takes the changes that are to be committed next. A batch that could not be committed comes first.
    pub(super) fn take(&mut self) -> Option<Arc<Batch>> {
        if self.committing.is_none() && !self.waiting.is_empty() {
            self.committing = Some(Arc::new(std::mem::take(&mut self.waiting)));
            self.current = 1 - self.current;
        }
        self.committing.clone()
    }

    /// Keeps what is left of the batch that was taken. Calls of which the database is damaged are lost: only the witness still names them.
    pub(super) fn settle(&mut self, uncommitted: Uncommitted) -> Option<Fault> {
        let left = uncommitted.left;
        self.generation += 1;
        self.has_damage |= uncommitted.has_damage;
        self.lost.extend(uncommitted.lost);
        self.has_failed = !left.is_empty();
        if self.has_failed {
            self.committing = Some(Arc::new(left));
            return uncommitted.fault;
        }
        self.committing = None;
        let committed = self.files.get_mut(1 - self.current);
        if let Some(Err(error)) = committed.map(StageFile::clear) {
            tracing::warn!(%error, "a file of staged changes cannot be emptied: the next start goes through its changes again");
        }
        None
    }

    /// Ends the lookups, because the store is being closed.
    pub(super) fn close(&mut self) {
        self.reader = None;
    }

    /// Returns whether a change may be staged. Otherwise, its caller waits for the database, and learns whether the change is stored.
    fn may_stage(&self) -> bool {
        !self.has_failed && !self.has_damage && self.waiting.bytes <= FULL
    }

    /// Returns the batches that the database does not have, the earlier one first.
    pub(super) fn batches(&self) -> impl Iterator<Item = &Batch> {
        let batches = [self.committing.as_deref(), Some(&self.waiting)];
        batches.into_iter().flatten()
    }

    /// Returns whether a call is staged.
    fn has(&self, key: &Key) -> bool {
        self.batches().any(|batch| batch.calls.contains_key(key))
    }

    /// Returns a call that is staged.
    fn staged(&self, key: &Key) -> Option<Call> {
        let staged = || self.batches().filter_map(|batch| batch.calls.get(key));
        let ended = staged().filter_map(|call| call.ended.as_ref()).last();
        let begun = || staged().find_map(|call| call.begun.as_ref());
        let call = ended.map(|ended| &ended.call).or_else(begun)?;
        Some(Call {
            chat: Some(call.chat.clone()),
            call: Some(call.call.clone()),
            // The database gives it its number.
            number: 0,
            tool: call.tool.clone(),
            principal: call.principal.clone(),
            state: ended.map_or(CallState::Running, |ended| ended.state),
            cancelled: ended.is_some_and(|ended| ended.cancelled),
            tools: None,
            began_ms: call.began_ms,
            ended_ms: None,
            arguments: call.arguments.clone(),
            outcome: ended.map(|ended| ended.outcome.clone()),
            digest: call.digest,
            is_elsewhere: false,
        })
    }

    /// Returns whether the database does not have a call.
    fn is_absent(&mut self, call: &NewCall, key: &Key) -> bool {
        if self.known.lacks(key) || self.absent.remove(key) {
            return true;
        }
        let Some(reader) = &self.reader else {
            return false;
        };
        matches!(
            find(reader, call.chat.as_str(), call.call.as_str()),
            Ok(None)
        )
    }

    /// Appends a change to the file. If that fails, the caller hears of the reason from the database, which has the same disk.
    fn append(&mut self, now: Moment, change: &Change<'_>) -> Option<()> {
        let number = self.next;
        self.next += 1;
        let file = self.files.get_mut(self.current)?;
        file.append(number, now.wall, change).ok()
    }
}

#[cfg(test)]
mod tests;
