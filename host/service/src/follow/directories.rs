//! Changes of files. Watches the directories of the files, because a file is often replaced by renaming another.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long there must be no event before the files are read, because a file may still be being written.
const QUIET: Duration = Duration::from_millis(100);

/// The longest wait for such a pause.
const PATIENCE: Duration = Duration::from_secs(2);

/// The directories that are watched.
#[derive(Debug)]
pub(super) struct Directories {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

/// The receiver of a notification that something happened in one of the directories.
#[derive(Debug)]
pub(super) struct Changes(mpsc::Receiver<()>);

impl Changes {
    /// Waits for an event, and then for a pause in the events. Returns false if the watcher is gone, so that no event can come.
    pub(super) async fn settled(&mut self) -> bool {
        if self.0.recv().await.is_none() {
            return false;
        }
        let patience = Instant::now() + PATIENCE;
        let quiet =
            async { while let Ok(Some(())) = tokio::time::timeout(QUIET, self.0.recv()).await {} };
        _ = tokio::time::timeout_at(patience, quiet).await;
        true
    }
}

impl Directories {
    /// Makes a watcher that watches no directory yet.
    pub(super) fn new() -> notify::Result<(Self, Changes)> {
        // A capacity of one is enough: if a notification is already queued, the coming look at the files covers this event too.
        let (tell, told) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            match event {
                // Ignore reads: the follower itself reads the files.
                Ok(event) if event.kind.is_access() => {}
                Ok(_) => _ = tell.try_send(()),
                Err(error) => tracing::warn!(%error, "a change may not have been seen"),
            }
        })?;
        let watched = BTreeSet::new();
        Ok((Self { watcher, watched }, Changes(told)))
    }

    /// Watches the directories of these files, and no others.
    pub(super) fn watch(&mut self, files: Vec<PathBuf>) -> notify::Result<()> {
        let mut wanted = BTreeSet::new();
        for path in files {
            // A symbolic link may be replaced, or its target may be.
            let real = path.canonicalize().ok();
            for path in [Some(path), real].into_iter().flatten() {
                if path.is_dir() {
                    wanted.insert(path.clone());
                }
                wanted.extend(path.parent().map(Path::to_path_buf));
            }
        }
        for gone in self.watched.difference(&wanted) {
            // The directory may have been removed, and its watch with it.
            _ = self.watcher.unwatch(gone);
        }
        let mut watched = BTreeSet::new();
        let mut failed = Ok(());
        for path in wanted {
            // Watch all directories anew: one that was removed and made again needs a new watch, and for the others this
            // changes nothing.
            match self.watcher.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => _ = watched.insert(path),
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) => failed = Err(error),
            }
        }
        self.watched = watched;
        failed
    }
}

/// The state of a file: its device, its inode, and when its content, size or mode last changed.
type Look = (u64, u64, i64, i64);

/// Returns the state of each file, in their order; `None` for a missing file.
pub(super) fn look(files: Vec<PathBuf>) -> Vec<(PathBuf, Option<Look>)> {
    let look = |path: PathBuf| {
        let found = std::fs::metadata(&path).ok();
        let look = found.map(|found| (found.dev(), found.ino(), found.ctime(), found.ctime_nsec()));
        (path, look)
    };
    files.into_iter().map(look).collect()
}
