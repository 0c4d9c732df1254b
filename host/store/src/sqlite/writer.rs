//! Changes: the thread that finds the connection free commits for all that wait.
//!
//! A thread of its own commits where callers must not wait for the disk, and where a caller has served others for long enough. It is
//! none of the runtime's: all threads for blocking work may wait for changes.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Durability;
use super::core::{Core, Metrics};
use super::fault::Fault;

/// The most changes of one transaction.
pub(super) const BATCH: usize = 256;

/// How many transactions the thread of a caller commits before it hands the queue over.
const ROUNDS: usize = 32;

/// How long a reader waits for this connection before it takes one of its own, which has nothing in its cache.
const SOON: Duration = Duration::from_micros(200);

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
    durability: Durability,
    metrics: Arc<Metrics>,
    /// Wakes the thread that commits, until the writer is closed.
    wake: Mutex<Option<SyncSender<()>>>,
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
        let (wake, woken) = sync_channel(1);
        let metrics = Arc::clone(&core.metrics);
        let writer = Arc::new(Self {
            metrics,
            queue: Mutex::default(),
            core: Mutex::new(core),
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

    /// Does something with the connection alone, and then the changes that have come meanwhile.
    pub(super) fn alone<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
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
        match &*self.wake.lock() {
            // If the thread was woken already, it has yet to look at the queue.
            Some(wake) => _ = wake.try_send(()),
            None => while !self.commit_some() {},
        }
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
            core.run(jobs);
        }
        drop(core);
        self.queue.lock().is_empty()
    }
}

fn commit_when_woken(writer: &Weak<Writer>, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        let Some(writer) = writer.upgrade() else {
            return;
        };
        while !writer.commit_some() {}
    }
}

/// Commits what waits, also if the caller gave up meanwhile.
struct GoesOn<'a>(&'a Writer);

impl Drop for GoesOn<'_> {
    fn drop(&mut self) {
        self.0.go_on();
    }
}
