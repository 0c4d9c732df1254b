//! The one connection that writes, and what goes with it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use toolhost_state::state_dir::Lock;

use super::clock::{Clock, Moment};
use super::fault::Fault;
use super::key::Key;
use super::room::Room;
use super::row::CallRow;

/// How many calls of each chat run.
pub(super) type Running = Arc<Mutex<BTreeMap<String, u64>>>;

/// The numbers that a store counts since its start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) commits: AtomicU64,
    pub(super) changes: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) damaged: AtomicU64,
    /// The bytes of the file and of its log.
    pub(super) bytes: AtomicU64,
    /// Whether the disk has not answered a caller in time, and nothing since.
    pub(super) is_late: AtomicBool,
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
    /// A call runs at this host.
    Began { chat: String, key: Key, number: i64 },
    /// A call that ran does not run any more.
    Ended { chat: String, key: Key },
    /// The outcomes of a chat, by its number, may be too many or too old.
    Touched { chat: i64, tick: i64 },
}

/// A change that waits for its transaction.
pub(super) trait Job: Send {
    /// Returns whether the caller has given up. Then the change is not made.
    fn is_abandoned(&self) -> bool;
    /// Does the change. It may be asked for again if its transaction fails.
    fn run(&mut self, core: &mut Core) -> Result<(), Fault>;
    /// Keeps the reason why the transaction failed.
    fn fail(&mut self, fault: Fault);
    /// Tells the caller whether the change was committed. If the caller has given up, a change that was committed is undone as far as it
    /// has to be.
    fn finish(self: Box<Self>, core: &mut Core, is_done: bool);
}

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) connection: Connection,
    pub(super) clock: Clock,
    /// When the task was handed over that is being done: a call has ended when it did, however late the disk takes it.
    pub(super) now: Moment,
    pub(super) path: PathBuf,
    pub(super) running: Running,
    /// The numbers of the calls that run at this host.
    pub(super) open: HashMap<Key, i64>,
    pub(super) metrics: Arc<Metrics>,
    /// The number of the next call.
    pub(super) next: i64,
    /// The chats that the next sweep looks at, with when a call of them last ended.
    pub(super) touched: HashMap<i64, i64>,
    /// Whether there was a sweep since the start.
    pub(super) has_swept: bool,
    /// Why no call begins: the file that has the earlier calls cannot be written.
    pub(super) refusal: Option<std::io::ErrorKind>,
    /// The room of a file on its disk.
    pub(super) room: Option<Room>,
    /// The lock of the state directory, which no other host gets as long as this connection exists.
    pub(super) lock: Option<Lock>,
    effects: Vec<Effect>,
}

impl Core {
    pub(super) fn new(connection: Connection, clock: Clock, path: PathBuf, next: i64) -> Self {
        Self {
            connection,
            now: clock.moment(),
            clock,
            path,
            running: Running::default(),
            open: HashMap::new(),
            metrics: Arc::default(),
            next,
            touched: HashMap::new(),
            has_swept: false,
            refusal: None,
            room: None,
            lock: None,
            effects: Vec::new(),
        }
    }

    /// Makes the row of a call that the database does not have.
    pub(super) fn new_row(&mut self, chat: i64, call: &str, key: Key) -> CallRow {
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
            job.finish(self, done.is_ok());
        }
    }

    /// Does these jobs in one transaction. A job that fails keeps its own error.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), ()> {
        let done = self.transact(|core| jobs.iter_mut().try_for_each(|job| job.run(core)));
        let Err(fault) = done else {
            return Ok(());
        };
        let fault = fault.explained(&self.path);
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
        let mut running = self.running.lock();
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Began { chat, key, number } => {
                    *running.entry(chat).or_default() += 1;
                    self.open.insert(key, number);
                }
                Effect::Ended { chat, key } => {
                    self.open.remove(&key);
                    if let Some(count) = running.get_mut(&chat) {
                        *count -= 1;
                        if *count == 0 {
                            running.remove(&chat);
                        }
                    }
                }
                Effect::Touched { chat, tick } => _ = self.touched.insert(chat, tick),
            }
        }
        drop(running);
        let file = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        let bytes = file + super::log_bytes(&self.path);
        self.metrics.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Stores the time for the next host.
    pub(super) fn save_clock(&mut self) -> Result<(), Fault> {
        self.transact(|core| Ok(core.clock.save(&core.connection, core.now.tick)?))
    }

    /// Moves the log into the file. A list that is being read keeps the log as it is.
    pub(super) fn empty_log(&mut self) -> Result<(), Fault> {
        const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.connection.busy_timeout(Duration::ZERO)?;
        let emptied = self.connection.query_row(EMPTY, [], |_| Ok(()));
        self.connection.busy_timeout(super::BUSY)?;
        Ok(emptied?)
    }

    /// Closes a file.
    pub(super) fn close(mut self) {
        self.now = self.clock.moment();
        if let Err(fault) = self.save_clock().and_then(|()| self.empty_log()) {
            tracing::warn!(
                ?fault,
                "the write-ahead log of the store was not emptied: the next start must read it"
            );
        }
    }
}
