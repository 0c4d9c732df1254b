//! Changes: the thread that finds the connection free commits for all that wait.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::core::Core;
use super::fault::Fault;
use crate::StoreError;

/// The most changes of one transaction.
pub(super) const BATCH: usize = 256;

/// How many transactions a thread commits before it hands the queue to another.
const ROUNDS: usize = 32;

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
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) fn new(core: Core) -> Self {
        Self {
            queue: Mutex::default(),
            core: Mutex::new(core),
        }
    }

    /// Hands a change over and commits what waits, unless another thread does.
    pub(super) fn submit<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnMut(&mut Core) -> Result<T, Fault> + Send + 'static,
    ) -> oneshot::Receiver<Result<T, Fault>> {
        let (told, answer) = oneshot::channel();
        let made = Err(Fault::Io(std::io::Error::other("the change was not done")));
        self.queue
            .lock()
            .push(Box::new(Change { work, made, told }));
        self.lead();
        answer
    }

    /// Does something with the connection alone, and then the changes that have come meanwhile.
    pub(super) fn alone<T>(self: &Arc<Self>, work: impl FnOnce(&mut Core) -> T) -> T {
        let done = work(&mut self.core.lock());
        self.lead();
        done
    }

    /// Does something with the connection if it is free.
    pub(super) fn at_once<T>(self: &Arc<Self>, work: impl FnOnce(&mut Core) -> T) -> Option<T> {
        let mut core = self.core.try_lock()?;
        let done = work(&mut core);
        drop(core);
        self.lead();
        Some(done)
    }

    /// Commits what waits, unless another thread does: that one looks at the queue again when it has let go of the connection.
    fn lead(self: &Arc<Self>) {
        for _ in 0..ROUNDS {
            let Some(mut core) = self.core.try_lock() else {
                return;
            };
            let mut queue = self.queue.lock();
            let rest = queue.len().min(BATCH);
            let jobs: Vec<_> = queue.drain(..rest).collect();
            drop(queue);
            if !jobs.is_empty() {
                core.run(jobs);
            }
            drop(core);
            if self.queue.lock().is_empty() {
                return;
            }
        }
        // The caller has its own answer by now, and should not serve others for ever.
        let writer = Arc::clone(self);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => _ = runtime.spawn_blocking(move || writer.lead()),
            Err(_) => self.lead(),
        }
    }
}

/// Returns the answer to a change.
pub(super) fn answer<T>(
    told: Result<Result<T, Fault>, oneshot::error::RecvError>,
    path: &std::path::Path,
    action: &'static str,
) -> Result<T, StoreError> {
    let unsaid = |_| Err(Fault::Io(std::io::Error::other("the change was dropped")));
    told.unwrap_or_else(unsaid)
        .map_err(|fault| fault.told(path, action))
}
