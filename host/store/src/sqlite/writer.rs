//! Changes: one thread has the connection that writes, and commits together all changes that wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc as blocking;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{error::Elapsed, timeout};
use toolhost_state::state_dir::Lock;

use super::PATIENCE;
use super::clock::{Clock, Moment};
use super::core::{Core, Job, Metrics};
use super::fault::Fault;

/// The most changes of one transaction.
const BATCH: usize = 256;

/// The most tasks that wait. Callers of further ones wait for room.
const QUEUE: usize = 1024;

/// A task of the thread.
enum Task {
    /// A change, which is made in a transaction with others.
    Change(Box<dyn Job>),
    /// Something that needs the connection alone.
    Alone(Box<dyn FnOnce(&mut Core) + Send>),
}

struct Change<T, F, U> {
    /// When it was handed over.
    at: Moment,
    work: F,
    undo: U,
    made: Result<T, Fault>,
    told: oneshot::Sender<Result<T, Fault>>,
}

impl<T, F, U> Job for Change<T, F, U>
where
    T: Send,
    F: FnMut(&mut Core) -> Result<T, Fault> + Send,
    U: FnOnce(&mut Core, T) + Send,
{
    fn is_abandoned(&self) -> bool {
        self.told.is_closed()
    }

    fn run(&mut self, core: &mut Core) -> Result<(), Fault> {
        core.now = self.at;
        self.made = Ok((self.work)(core)?);
        Ok(())
    }

    fn fail(&mut self, fault: Fault) {
        self.made = Err(fault);
    }

    fn finish(self: Box<Self>, core: &mut Core, is_done: bool) {
        let made = match self.made {
            Ok(_) if !is_done => Err(failed("the change was not committed")),
            made => made,
        };
        if let Err(Ok(made)) = self.told.send(made) {
            (self.undo)(core, made);
        }
    }
}

/// The connection that writes, or the way to it.
pub(super) struct Writer {
    clock: Clock,
    metrics: Arc<Metrics>,
    way: Way,
}

enum Way {
    /// The connection of a store in memory, which waits for no disk.
    Here(Box<Mutex<Core>>),
    /// The connection to a file. A disk that hangs delays the thread alone.
    Thread {
        /// `None` once the writer is closed.
        tasks: Mutex<Option<mpsc::Sender<Task>>>,
        /// Tells that the thread has ended.
        ended: Mutex<blocking::Receiver<()>>,
    },
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread. It drops the core last.
    pub(super) fn start(core: Core) -> io::Result<Self> {
        let (clock, metrics) = (core.clock.clone(), Arc::clone(&core.metrics));
        let (tasks, waiting) = mpsc::channel(QUEUE);
        let (ends, ended) = blocking::channel();
        let thread = std::thread::Builder::new().name("store".to_owned());
        thread.spawn(move || {
            work(core, waiting);
            // The store may not wait for it any more.
            _ = ends.send(());
        })?;
        let way = Way::Thread {
            tasks: Mutex::new(Some(tasks)),
            ended: Mutex::new(ended),
        };
        Ok(Self {
            clock,
            metrics,
            way,
        })
    }

    /// Has the callers use the connection themselves, because it is to memory.
    pub(super) fn here(core: Core) -> Self {
        Self {
            clock: core.clock.clone(),
            metrics: Arc::clone(&core.metrics),
            way: Way::Here(Box::new(Mutex::new(core))),
        }
    }

    /// Makes a change. If the caller gives up, or the disk does not answer in time, the change is not made, or `undo` is called after it.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Core) -> Result<T, Fault> + Send + 'static,
        undo: impl FnOnce(&mut Core, T) + Send + 'static,
    ) -> Result<T, Fault> {
        let (told, answer) = oneshot::channel();
        let made = Err(failed("the change was not done"));
        let change = Box::new(Change {
            at: self.clock.moment(),
            work,
            undo,
            made,
            told,
        });
        self.ask(Task::Change(change), answer).await
    }

    /// Does something with the connection alone, between two transactions.
    pub(super) async fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Core) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (told, answer) = oneshot::channel();
        let at = self.clock.moment();
        let task = move |core: &mut Core| {
            core.now = at;
            if !told.is_closed() {
                // A caller that has given up meanwhile needs no answer.
                _ = told.send(work(core));
            }
        };
        self.ask(Task::Alone(Box::new(task)), answer).await
    }

    /// Has a task done, and returns its answer.
    async fn ask<T>(
        &self,
        task: Task,
        mut answer: oneshot::Receiver<Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let dropped = |_| failed("the change was dropped");
        let tasks = match &self.way {
            Way::Here(core) => {
                task.run(&mut core.lock());
                return answer.await.map_err(dropped)?;
            }
            Way::Thread { tasks, .. } => tasks.lock().clone(),
        };
        let asking = async {
            let closed = || failed("the store is closed");
            let tasks = tasks.ok_or_else(closed)?;
            tasks.send(task).await.map_err(|_| closed())?;
            (&mut answer).await.map_err(dropped)?
        };
        match timeout(PATIENCE, asking).await {
            Ok(answered) => answered,
            Err(Elapsed { .. }) => {
                self.metrics.is_late.store(true, Ordering::Relaxed);
                // A change that is committed after this is undone.
                answer.close();
                let Ok(answered) = answer.try_recv() else {
                    return Err(Fault::Late);
                };
                self.metrics.is_late.store(false, Ordering::Relaxed);
                answered
            }
        }
    }

    /// Keeps the lock of the state directory until the connection is closed.
    pub(super) fn hold(&self, lock: Lock) {
        let task = Task::Alone(Box::new(move |core| core.lock = Some(lock)));
        match &self.way {
            Way::Here(core) => task.run(&mut core.lock()),
            Way::Thread { tasks, .. } => {
                let tasks = tasks.lock();
                // A store that was just opened has nothing to do.
                _ = tasks.as_ref().map(|tasks| tasks.try_send(task));
            }
        }
    }

    /// Ends the thread once it has done what waits. Returns whether it has ended within [`PATIENCE`].
    pub(super) fn close(&self) -> bool {
        let Way::Thread { tasks, ended } = &self.way else {
            return true;
        };
        tasks.lock().take();
        let ended = ended.lock().recv_timeout(PATIENCE);
        !matches!(ended, Err(blocking::RecvTimeoutError::Timeout))
    }
}

impl Task {
    fn run(self, core: &mut Core) {
        match self {
            Self::Change(job) => core.run(vec![job]),
            Self::Alone(work) => work(core),
        }
    }
}

pub(super) fn failed(why: &'static str) -> Fault {
    Fault::Io(io::Error::other(why))
}

/// Does tasks until no other one can come.
fn work(mut core: Core, mut tasks: mpsc::Receiver<Task>) {
    let mut next = tasks.blocking_recv();
    while let Some(task) = next.take() {
        let mut jobs = Vec::new();
        match task {
            Task::Alone(work) => work(&mut core),
            Task::Change(first) => jobs.push(first),
        }
        while !jobs.is_empty() && jobs.len() < BATCH && next.is_none() {
            match tasks.try_recv() {
                Ok(Task::Change(job)) => jobs.push(job),
                Ok(alone) => next = Some(alone),
                Err(_) => break,
            }
        }
        jobs.retain(|job| !job.is_abandoned());
        if !jobs.is_empty() {
            core.run(jobs);
        }
        core.metrics.is_late.store(false, Ordering::Relaxed);
        next = next.or_else(|| tasks.blocking_recv());
    }
    core.close();
}
