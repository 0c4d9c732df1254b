//! Files for callers that must not block.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{CpuAccount, Error, Files, OpenError, Work};

/// How many operations run at once: each may hold some megabytes, and a thread for as long as a disk hangs.
const OPERATIONS: usize = 32;

/// Runs operations on files on threads that may block. Cheap to clone: clones share everything.
#[derive(Clone, Debug)]
pub struct Pool {
    files: Arc<Files>,
    places: Arc<Semaphore>,
}

impl Pool {
    /// Takes the files.
    pub fn new(files: Files) -> Self {
        Self {
            files: Arc::new(files),
            places: Arc::new(Semaphore::new(OPERATIONS)),
        }
    }

    /// Returns a pool of the files of these directories alone (see [`Files::restricted`]), with the same threads.
    ///
    /// # Errors
    ///
    /// If one of the directories cannot be opened, or holds secrets of the host.
    pub fn restricted(&self, roots: &[PathBuf]) -> Result<Self, OpenError> {
        Ok(Self {
            files: Arc::new(self.files.restricted(roots)?),
            places: Arc::clone(&self.places),
        })
    }

    /// Returns the files, for what does not block.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Runs an operation, and adds what it costs to the account. Dropping the future stops the operation: a search ends early, a
    /// write that has begun does not.
    ///
    /// # Errors
    ///
    /// If the operation panics, or if nothing is left of the account before it begins.
    pub async fn run<T: Send + 'static>(
        &self,
        account: Arc<CpuAccount>,
        run: impl FnOnce(&Files, &Work) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let failed =
            |error: &dyn std::fmt::Display| Error::Failed(format!("the host failed: {error}"));
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|error| failed(&error))?;
        let files = Arc::clone(&self.files);
        let work = Arc::new(Work::of(&account));
        let waiting = Waiting(Some(Arc::clone(&work)));
        let task = tokio::task::spawn_blocking(move || {
            let _place = place;
            let (result, used) = work.run(|| run(&files, &work));
            account.add(used);
            result
        });
        let ran = task.await;
        waiting.ended();
        ran.map_err(|error| failed(&error))?
    }
}

/// Stops the work when it is dropped before the work has ended.
struct Waiting(Option<Arc<Work>>);

impl Waiting {
    fn ended(mut self) {
        self.0 = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(work) = &self.0 {
            work.stop();
        }
    }
}
