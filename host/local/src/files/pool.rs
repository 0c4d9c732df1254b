//! Files for callers that must not block.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::write::UPLOAD_IDLE;
use super::{CpuAccount, Error, Files, OpenError, Precondition, Work};
use toolhost_workspace::Context;

/// How many operations run at once: each may hold some megabytes, and a thread for as long as a disk hangs.
const OPERATIONS: usize = 32;

/// Runs operations on files on threads that may block. Cheap to clone: clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    files: Arc<Files>,
    permits: Arc<Semaphore>,
}

impl Pool {
    /// Makes a pool for these files.
    pub(crate) fn new(files: Files) -> Self {
        Self {
            files: Arc::new(files),
            permits: Arc::new(Semaphore::new(OPERATIONS)),
        }
    }

    /// Returns a pool of the files of another workspace (see [`Files::beside`]), with the same threads.
    ///
    /// # Errors
    ///
    /// If the workspace cannot be opened.
    pub(crate) fn beside(&self, workspace: &Path) -> Result<Self, OpenError> {
        Ok(Self {
            files: Arc::new(self.files.beside(workspace)?),
            permits: Arc::clone(&self.permits),
        })
    }

    /// Returns the files.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// Returns a pool of the files of these directories alone (see [`Files::restricted`]), with the same threads.
    ///
    /// # Errors
    ///
    /// If one of the directories cannot be opened, or is closed.
    pub(crate) fn restricted(&self, roots: &[PathBuf]) -> Result<Self, OpenError> {
        Ok(Self {
            files: Arc::new(self.files.restricted(roots)?),
            permits: Arc::clone(&self.permits),
        })
    }

    /// Begins an upload, and drops it when its caller adds nothing any more.
    ///
    /// # Errors
    ///
    /// See [`Files::begin_upload`].
    pub(crate) async fn begin_upload(
        &self,
        context: &Context,
        id: String,
        path: String,
        when: Precondition,
    ) -> Result<(), Error> {
        let key = id.clone();
        let begin = move |files: &Files, _: &Work| files.begin_upload(&key, &path, when);
        let begun = self.run(Arc::clone(&context.account), begin).await;
        if begun.flatten()? {
            let files = Arc::clone(&self.files);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(UPLOAD_IDLE).await;
                    let (files, id) = (Arc::clone(&files), id.clone());
                    let sweep =
                        tokio::task::spawn_blocking(move || files.sweep_upload(&id, UPLOAD_IDLE));
                    if sweep.await.unwrap_or(true) {
                        return;
                    }
                }
            });
        }
        Ok(())
    }

    /// Runs an operation, and charges its CPU time to the account. Dropping the future stops a search early; a write that has
    /// begun is completed.
    ///
    /// # Errors
    ///
    /// If the operation panics, or if nothing is left of the account before it begins.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        account: Arc<CpuAccount>,
        run: impl FnOnce(&Files, &Work) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let failed =
            |error: &dyn std::fmt::Display| Error::Failed(format!("the host failed: {error}"));
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|error| failed(&error))?;
        let files = Arc::clone(&self.files);
        let stopped = CancellationToken::new();
        let _stops = stopped.clone().drop_guard();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            crate::exemption::give_up();
            Work::run(&account, stopped, |work| run(&files, work))
        });
        task.await.map_err(|error| failed(&error))?
    }
}
