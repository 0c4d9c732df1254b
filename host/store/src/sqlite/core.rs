//! The one connection that writes, and what goes with it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;

use super::blocked::Blocked;
use super::clock::Clock;
use super::fault::Fault;
use super::known::Known;
use super::open::is_known;
use super::row::CallRow;
use super::staging::Staging;
use super::witness::{Key, Witness};
use super::writer::Job;

/// The size of the log in bytes at which it is emptied.
const LOG: u64 = 64 << 20;

/// How many calls of each chat run.
pub(super) type Running = Arc<Mutex<BTreeMap<String, u64>>>;

/// The numbers that a store counts since its start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// How many calls began in this host and run.
    pub(super) open: AtomicU64,
    pub(super) commits: AtomicU64,
    pub(super) changes: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) damaged: AtomicU64,
}

impl Metrics {
    /// Counts damage, and tells of the first.
    pub(super) fn damage(&self, fault: &Fault) {
        if self.damaged.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::error!(
                ?fault,
                "the store is damaged; calls that it may have lost are unknown and do not run: `toolhost state check` lists all problems"
            );
        }
    }
}

/// A change that counts once its transaction is committed.
#[derive(Debug)]
pub(super) enum Effect {
    /// A call began. `is_named` says that the witness names it already.
    Began {
        chat: String,
        key: Key,
        number: i64,
        is_named: bool,
    },
    /// A call that ran in an earlier host is one of this host.
    TakenOver { chat: String, key: Key, number: i64 },
    /// No call of an earlier host is left.
    AllTakenOver,
    /// A call that ran does not run any more.
    Ended { chat: String, key: Key },
    /// A call was cancelled before it arrived.
    Fenced { key: Key },
    /// A call that began is forgotten, because it did not run.
    Withdrawn { key: Key },
    /// The outcomes of a chat, by its number, may be too many or too old.
    Touched { chat: i64, tick: i64 },
}

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) connection: Connection,
    pub(super) witness: Arc<Mutex<Witness>>,
    /// The changes that the database does not have yet, if the host stages changes.
    pub(super) staging: Option<Arc<Mutex<Staging>>>,
    /// The calls that the database has or is about to have.
    pub(super) known: Arc<Known>,
    pub(super) clock: Clock,
    pub(super) path: PathBuf,
    pub(super) running: Running,
    /// The numbers of the calls that began in this host and run.
    pub(super) open: HashMap<Key, i64>,
    /// The calls that the witness named at the start, until those that ran are taken over; `None` if it was not whole.
    pub(super) begun: Option<Vec<Key>>,
    pub(super) metrics: Arc<Metrics>,
    /// The number of the next call.
    pub(super) next: i64,
    /// How many calls were forgotten since the start.
    pub(super) removed: u64,
    /// The chats that the next sweep looks at, with when a call of them last ended.
    pub(super) touched: HashMap<i64, i64>,
    /// Whether there was a sweep since the start.
    pub(super) has_swept: bool,
    /// The calls and processes that no change may concern now.
    pub(super) blocked: Option<Blocked>,
    effects: Vec<Effect>,
    /// Asks for the log to be emptied, until the store is closed.
    full: Option<SyncSender<()>>,
}

impl Core {
    pub(super) fn new(
        connection: Connection,
        (witness, clock): (Witness, Clock),
        path: PathBuf,
        next: i64,
        full: SyncSender<()>,
    ) -> Self {
        Self {
            connection,
            witness: Arc::new(Mutex::new(witness)),
            staging: None,
            known: Arc::default(),
            clock,
            path,
            running: Running::default(),
            open: HashMap::new(),
            begun: None,
            metrics: Arc::default(),
            next,
            removed: 0,
            touched: HashMap::new(),
            has_swept: false,
            blocked: None,
            effects: Vec::new(),
            full: Some(full),
        }
    }

    /// Makes the row of a call that the database does not have.
    pub(super) fn new_row(&mut self, chat: i64, call: &str, key: Key) -> CallRow {
        self.known.add(&key);
        let number = self.next;
        self.next += 1;
        CallRow::new(number, chat, call, key)
    }

    /// Notes an effect of the transaction.
    pub(super) fn note(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Notes that a call that ran does not run any more.
    pub(super) fn note_end(&mut self, chat: String, key: Key) {
        self.note(Effect::Ended { chat, key });
    }

    /// Does these jobs in one transaction, or each in one of its own if one of them fails.
    pub(super) fn run(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        self.metrics
            .changes
            .fetch_add(jobs.len() as u64, Ordering::Relaxed);
        let together = self.attempt(&mut jobs);
        let is_alone = jobs.len() == 1;
        for mut job in jobs {
            let done = match &together {
                Ok(()) => Ok(()),
                Err(_) if !is_alone => self.attempt(std::slice::from_mut(&mut job)),
                Err(_) => Err(()),
            };
            if done.is_err() {
                self.metrics.failures.fetch_add(1, Ordering::Relaxed);
            }
            job.finish(done.is_ok());
        }
    }

    /// Does these jobs in one transaction. A job that fails keeps its own error.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), ()> {
        let done = self.transact(|core| jobs.iter_mut().try_for_each(|job| job.run(core)));
        let Err(fault) = done else {
            return Ok(());
        };
        if fault.is_damage() {
            self.metrics.damage(&fault);
        }
        // An error of the commit belongs to no single job, so the last job gets it; each job is then tried alone.
        if let Some(job) = jobs.last_mut() {
            job.fail(fault);
        }
        Err(())
    }

    /// Does something in a transaction.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])?;
        let done = work(self).and_then(|done| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(done)
        });
        if done.is_err() {
            self.effects.clear();
            if !self.connection.is_autocommit() {
                _ = self.connection.execute_batch("ROLLBACK");
            }
            return done;
        }
        self.metrics.commits.fetch_add(1, Ordering::Relaxed);
        self.committed();
        done
    }

    /// Lets the effects of a transaction count.
    fn committed(&mut self) {
        let mut keys = Vec::new();
        let effects = std::mem::take(&mut self.effects);
        if !effects.is_empty() {
            let mut running = self.running.lock();
            for effect in effects {
                match effect {
                    Effect::Began {
                        chat,
                        key,
                        number,
                        is_named,
                    } => {
                        *running.entry(chat).or_default() += 1;
                        self.open.insert(key, number);
                        keys.extend((!is_named).then_some(key));
                    }
                    Effect::TakenOver { chat, key, number } => {
                        *running.entry(chat).or_default() += 1;
                        self.open.insert(key, number);
                    }
                    Effect::AllTakenOver => self.begun = Some(Vec::new()),
                    Effect::Ended { chat, key } => {
                        self.open.remove(&key);
                        if let Some(count) = running.get_mut(&chat) {
                            *count -= 1;
                            if *count == 0 {
                                running.remove(&chat);
                            }
                        }
                    }
                    Effect::Fenced { key } => keys.push(key),
                    Effect::Withdrawn { key } => {
                        let mut witness = self.witness.lock();
                        witness.add(&std::mem::take(&mut keys));
                        witness.take_back(&key);
                    }
                    Effect::Touched { chat, tick } => _ = self.touched.insert(chat, tick),
                }
            }
        }
        if !keys.is_empty() {
            self.witness.lock().add(&keys);
        }
        self.metrics
            .open
            .store(self.open.len() as u64, Ordering::Relaxed);
        if super::log_bytes(&self.path) > LOG
            && let Some(full) = &self.full
        {
            // If it was asked for already, that is enough.
            _ = full.try_send(());
        }
    }

    /// Forgets the notes in the witness of the calls that the database has by now.
    pub(super) fn forget_notes(&self) {
        let is_known = |key: &Key| is_known(&self.connection, key).unwrap_or(false);
        self.witness.lock().forget_notes(is_known);
    }

    /// Empties the log for the last time.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        self.full = None;
        self.empty_log()
    }

    /// Moves the log into the database. No log stays that holds older pages than the database: where the end of such a log is lost,
    /// its beginning would make pages old again.
    pub(super) fn empty_log(&mut self) -> Result<(), Fault> {
        self.clock.save(&self.connection)?;
        self.witness.lock().begin_emptying();
        // A list that is being read keeps the log as it is. No call waits for that: the log is emptied later.
        self.connection.busy_timeout(Duration::ZERO)?;
        let emptied = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        self.connection.busy_timeout(super::PATIENCE)?;
        let is_busy: bool = emptied?;
        if !is_busy {
            self.forget_notes();
            // A call that is staged meanwhile waits here, so that the witness does not lose it.
            let staging = self.staging.as_ref().map(|staging| staging.lock());
            let staged = staging.iter().flat_map(|staging| staging.keys());
            let running = self.open.keys().chain(self.begun.iter().flatten());
            let running: Vec<_> = running.copied().chain(staged).collect();
            self.witness.lock().clear(running.into_iter());
        }
        Ok(())
    }
}
