//! The names of temporary files, so that none stays behind when a host is killed.
//!
//! The host stores the path of a temporary file before it makes the file. The path is forgotten with the next one that is
//! stored, so a write costs one change of the store. A host that starts first removes the files that the store names.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat};
use tokio::runtime::Handle;
use toolhost_store::{LocalStore, StoreError};

/// The part that the name of every temporary file has, so that no other file is ever removed.
pub(super) const MARK: &str = ".tmp.";

/// The temporary files of one host.
#[derive(Debug)]
pub(crate) struct Temporaries {
    store: Arc<dyn LocalStore>,
    runtime: Handle,
    /// Files that are gone, and that the store still names.
    gone: Mutex<Vec<PathBuf>>,
    /// Whether the last name could not be stored.
    fails: AtomicBool,
}

impl Temporaries {
    /// Removes the files that an earlier host left.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. That it is damaged is logged, and no error.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub(crate) async fn open(store: Arc<dyn LocalStore>) -> Result<Self, StoreError> {
        let left = match store.temporaries().await {
            Err(error @ StoreError::Damaged { .. }) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "temporary files of hosts that were killed may stay");
                Vec::new()
            }
            left => left?,
        };
        let cleaning = move || left.into_iter().filter(|path| clean(path)).collect();
        let gone = tokio::task::spawn_blocking(cleaning).await;
        let gone = gone.unwrap_or_else(|error| {
            tracing::error!(%error, "failed to remove temporary files");
            Vec::new()
        });
        Ok(Self {
            store,
            runtime: Handle::current(),
            gone: Mutex::new(gone),
            fails: AtomicBool::new(false),
        })
    }

    /// Stores the name of a file that will be made. Returns whether it is stored: on a full disk, files are written all the same.
    /// Waits for the disk, so no task of the runtime may call it.
    pub(super) fn add(&self, path: &Path) -> bool {
        let gone = std::mem::take(&mut *self.gone.lock());
        let added = self.store.add_temporary(path.to_path_buf(), gone.clone());
        let Err(error) = self.runtime.block_on(added) else {
            self.fails.store(false, Ordering::Relaxed);
            return true;
        };
        self.gone.lock().extend(gone);
        if !self.fails.swap(true, Ordering::Relaxed) {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "a temporary file may stay if this host is killed");
        }
        false
    }

    /// Notes that a file no longer exists.
    pub(super) fn remove(&self, path: PathBuf) {
        self.gone.lock().push(path);
    }
}

/// Removes one temporary file, unless its path has a link in it. Returns false if the file is still there.
fn clean(path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return true;
    };
    if !name.to_string_lossy().contains(MARK) {
        return true;
    }
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let removed = openat2(CWD, parent, flags, Mode::empty(), resolve)
        .and_then(|parent| unlinkat(parent, name, AtFlags::empty()));
    match removed {
        Ok(()) => {
            tracing::info!(path = %path.display(), "removed a temporary file of a host that was killed")
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {}
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a temporary file of a host that was killed stays");
            return false;
        }
    }
    true
}
