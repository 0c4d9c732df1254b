//! Changes: the thread that finds the connection free commits for all that wait.
//!
//! A thread of its own commits staged changes, commits where callers must not wait for the disk, and takes over where a caller has
//! served others for long enough. It is none of the runtime's: all threads for blocking work may wait for changes.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Durability;
use super::core::{Core, Metrics};
use super::fault::Fault;
use super::staging::{self, Staging};

/// The most changes of one transaction.
pub(super) const BATCH: usize = 256;

/// How many transactions the thread of a caller commits before it hands the queue over.
const ROUNDS: usize = 32;

/// How long a reader waits for this connection before it takes one of its own, which has nothing in its cache.
const SOON: Duration = Duration::from_micros(200);

/// How long staged changes wait for others, to be committed with them.
const GATHER: Duration = Duration::from_millis(250);

/// How long staged changes that could not be committed wait for the next try.
const RETRY: Duration = Duration::from_secs(1);

/// The reason to wake the thread that commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    /// Callers wait for their changes.
    Now,
    /// Changes are staged, which may wait for others.
    Staged,
}

/// A change that waits for its transaction.
pub(super) trait Job: Send {
    /// Does the change. It may be asked for again if its transaction fails.
    fn run(&mut self, core: &mut Core) -> Result<(), Fault>;

    /// Keeps the reason why the transaction failed.
    fn fail(&mut self, fault: Fault);

    /// Tells the caller whether the change was committed.
    fn finish(self: Box<Self>, is_done: bool);
}

struct Change<T, F> {
    work: F,
    made: Result<T, Fault>,
    told: oneshot::Sender<Result<T, Fault>>,
}

impl<T: Send, F: FnMut(&mut Core) -> Result<T, Fault> + Send> Job for Change<T, F> {
    fn run(&mut self, core: &mut Core) -> Result<(), Fault> {
        self.made = Ok((self.work)(core)?);
        Ok(())
    }

    fn fail(&mut self, fault: Fault) {
        self.made = Err(fault);
    }

    fn finish(self: Box<Self>, is_done: bool) {
        let unsaid = || {
            Err(Fault::Io(std::io::Error::other(
                "the change was not committed",
            )))
        };
        let made = match self.made {
            Ok(_) if !is_done => unsaid(),
            made => made,
        };
        // A caller that gave up needs no answer.
        _ = self.told.send(made);
    }
}

/// The queue of changes, and the connection that does them.
pub(super) struct Writer {
    queue: Mutex<Vec<Box<dyn Job>>>,
    core: Mutex<Core>,
    /// The changes that the database does not have yet, if the host stages changes. A thread that locks both locks `core` first.
    staging: Option<Arc<Mutex<Staging>>>,
    durability: Durability,
    metrics: Arc<Metrics>,
    /// Wakes the thread that commits, until the writer is closed.
    wake: Mutex<Option<SyncSender<Wake>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread that commits.
    pub(super) fn start(core: Core, durability: Durability) -> io::Result<Arc<Self>> {
        let (wake, woken) = sync_channel(2);
        let staging = core.staging.clone();
        let metrics = Arc::clone(&core.metrics);
        let writer = Arc::new(Self {
            metrics,
            queue: Mutex::default(),
            core: Mutex::new(core),
            staging,
            durability,
            wake: Mutex::new(Some(wake)),
            thread: Mutex::default(),
        });
        let weak = Arc::downgrade(&writer);
        let thread = std::thread::Builder::new().name("store-commit".to_owned());
        let thread = thread.spawn(move || commit_when_woken(&weak, &woken))?;
        *writer.thread.lock() = Some(thread);
        Ok(writer)
    }

    /// Makes a change.
    ///
    /// If several calls run, tasks that are ready get their turn first, so that their changes are of the same transaction.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Core) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (told, answer) = oneshot::channel();
        let made = Err(Fault::Io(io::Error::other("the change was not done")));
        self.queue
            .lock()
            .push(Box::new(Change { work, made, told }));
        let committing = GoesOn(self);
        if self.metrics.open.load(Ordering::Relaxed) > 1 {
            tokio::task::yield_now().await;
        }
        drop(committing);
        let unsaid = |_| Err(Fault::Io(io::Error::other("the change was dropped")));
        answer.await.unwrap_or_else(unsaid)
    }

    /// Stages a change, if this store stages changes. Returns the answer; `None` if the caller has to make the change.
    pub(super) fn stage<T>(&self, stage: impl FnOnce(&mut Staging) -> Option<T>) -> Option<T> {
        let mut staging = self.staging()?.lock();
        let was_idle = staging.is_idle();
        let staged = stage(&mut staging);
        let (is_first, is_much) = (was_idle && !staging.is_idle(), staging.is_much());
        drop(staging);
        if is_much && staged.is_some() {
            self.wake(Wake::Now);
        } else if is_first {
            self.wake(Wake::Staged);
        }
        staged
    }

    /// Returns the staged changes, if this store stages changes.
    pub(super) fn staging(&self) -> Option<&Mutex<Staging>> {
        self.staging.as_deref()
    }

    /// Commits the staged changes, as far as the database takes them.
    pub(super) fn flush(&self) {
        if self
            .staging()
            .is_some_and(|staging| !staging.lock().is_empty())
        {
            self.alone(|_| ());
        }
    }

    /// Commits the staged changes as [`Writer::flush`] does. A task that waits does not block its thread.
    pub(super) async fn flush_soon(&self) {
        // If the changes could not be committed, they are still staged.
        _ = self.make(|_| Ok(())).await;
    }

    /// Does something with the connection alone, and then the changes that have come meanwhile. The database has all changes that were
    /// staged before, as far as it takes them.
    pub(super) fn alone<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.core.lock();
        self.commit_staged(&mut core);
        let done = work(&mut core);
        drop(core);
        self.go_on();
        done
    }

    /// Commits the staged changes, as far as the database takes them. Others can be staged meanwhile. Returns why a change was not
    /// committed.
    fn commit_staged(&self, core: &mut Core) -> Option<Fault> {
        staging::commit(self.staging()?, |batch| core.commit_staged(batch))
    }

    /// Does something with the connection while no thread commits. Changes that are staged stay so.
    pub(super) fn between_commits<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let done = work(&mut self.core.lock());
        self.go_on();
        done
    }

    /// Does something with the connection if it is free soon: most transactions take less than [`SOON`].
    pub(super) fn soon<T>(&self, work: impl FnOnce(&mut Core) -> T) -> Option<T> {
        let mut core = self.core.try_lock_for(SOON)?;
        let done = work(&mut core);
        drop(core);
        self.go_on();
        Some(done)
    }

    /// Empties the log for the last time, and ends the thread.
    pub(super) fn close(&self) -> Result<(), Fault> {
        self.wake.lock().take();
        if let Some(thread) = self.thread.lock().take() {
            _ = thread.join();
        }
        self.alone(Core::close)
    }

    /// Commits what waits, on this thread if that does not wait for the disk. If another thread has the connection, it looks at the
    /// queue when it has let go of it.
    fn go_on(&self) {
        if self.durability == Durability::Host {
            for _ in 0..ROUNDS {
                if self.commit_some() {
                    return;
                }
            }
        } else if self.queue.lock().is_empty() {
            return;
        }
        // The caller must not wait for the disk, or should not serve others for ever.
        if !self.wake(Wake::Now) {
            while !self.commit_some() {}
        }
    }

    /// Wakes the thread that commits. Returns whether there is one.
    fn wake(&self, why: Wake) -> bool {
        let wake = self.wake.lock();
        // If the thread was woken twice already, it has yet to look at what is there.
        wake.as_ref().map(|wake| wake.try_send(why)).is_some()
    }

    /// Commits one transaction, and returns whether this thread has nothing left to do.
    fn commit_some(&self) -> bool {
        let Some(mut core) = self.core.try_lock() else {
            return true;
        };
        let mut queue = self.queue.lock();
        let rest = queue.len().min(BATCH);
        let jobs: Vec<_> = queue.drain(..rest).collect();
        drop(queue);
        if !jobs.is_empty() {
            self.run(&mut core, jobs);
        }
        drop(core);
        self.queue.lock().is_empty()
    }

    /// Commits jobs. They see all staged changes, and nothing is staged meanwhile: a job may decide about a call because the database
    /// does not have it. If the disk does not take a staged change, only jobs on its call or process fail.
    fn run(&self, core: &mut Core, jobs: Vec<Box<dyn Job>>) {
        let Some(staging) = self.staging() else {
            return core.run(jobs);
        };
        // Most staged changes are committed while others can be staged.
        let mut fault = self.commit_staged(core);
        let mut staging = staging.lock();
        staging.forget_absent();
        while fault.is_none()
            && let Some(batch) = staging.take()
        {
            let uncommitted = core.commit_staged(&batch);
            fault = staging.settle(uncommitted);
        }
        core.blocked = fault.map(|fault| staging.blocked(fault));
        core.run(jobs);
        core.blocked = None;
    }

    /// Returns whether staged changes could not be committed.
    pub(super) fn has_failed(&self) -> bool {
        self.staging()
            .is_some_and(|staging| staging.lock().has_failed())
    }
}

fn commit_when_woken(writer: &Weak<Writer>, woken: &Receiver<Wake>) {
    let mut wake = woken.recv();
    while let Ok(why) = wake {
        if why == Wake::Staged
            && let Err(RecvTimeoutError::Disconnected) = woken.recv_timeout(GATHER)
        {
            return;
        }
        let Some(writer) = writer.upgrade() else {
            return;
        };
        writer.flush();
        while !writer.commit_some() {}
        let has_failed = writer.has_failed();
        drop(writer);
        wake = match has_failed {
            false => woken.recv(),
            true => match woken.recv_timeout(RETRY) {
                Err(RecvTimeoutError::Timeout) => Ok(Wake::Now),
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(why) => Ok(why),
            },
        };
    }
}

/// Commits what waits, also if the caller gave up meanwhile.
struct GoesOn<'a>(&'a Writer);

impl Drop for GoesOn<'_> {
    fn drop(&mut self) {
        self.0.go_on();
    }
}
