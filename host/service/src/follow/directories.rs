//! Being told when files change: the directories that they are in are watched, because files are replaced by others.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long nothing may have changed before it is looked at: a file that is being written is not whole.
const QUIET: Duration = Duration::from_millis(100);

/// How long it waits for that at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// The directories that are watched.
#[derive(Debug)]
pub struct Directories {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

/// Says that something happened in one of the directories.
#[derive(Debug)]
pub struct Changes(mpsc::Receiver<()>);

impl Changes {
    /// Waits until something has happened, and then until nothing happens for a moment. Returns false if there is nothing to
    /// wait for.
    pub async fn settled(&mut self) -> bool {
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
    /// Begins without any.
    pub fn new() -> notify::Result<(Self, Changes)> {
        // One place: what happens while it is taken is seen when it is looked at.
        let (tell, told) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            match event {
                // Reading is what this itself does.
                Ok(event) if event.kind.is_access() => {}
                Ok(_) => _ = tell.try_send(()),
                Err(error) => tracing::warn!(%error, "a change may not have been seen"),
            }
        })?;
        let watched = BTreeSet::new();
        Ok((Self { watcher, watched }, Changes(told)))
    }

    /// Watches the directories of these files, and no others.
    pub fn watch(&mut self, files: Vec<PathBuf>) -> notify::Result<()> {
        let mut wanted = BTreeSet::new();
        for path in files {
            // A link may be exchanged, or what it leads to.
            let real = path.canonicalize().ok();
            for path in [Some(path), real].into_iter().flatten() {
                if path.is_dir() {
                    wanted.insert(path.clone());
                }
                wanted.extend(path.parent().map(Path::to_path_buf));
            }
        }
        for gone in self.watched.difference(&wanted) {
            // It may have been removed, and its watch with it.
            _ = self.watcher.unwatch(gone);
        }
        let mut watched = BTreeSet::new();
        let mut failed = Ok(());
        for path in wanted {
            // A directory that was made anew needs a new watch, and one that is watched already takes it.
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

/// How files look, by their paths; `None`: there is none.
pub type Looks = Vec<(PathBuf, Option<Look>)>;

/// What changes when a file does: device, inode, size, and the times of its last changes.
pub(super) type Look = (u64, u64, u64, i64, i64, i64, i64);

/// Looks at files.
pub fn look(files: Vec<PathBuf>) -> Looks {
    let look = |path: PathBuf| {
        let found = std::fs::metadata(&path).ok().map(|found| {
            (
                found.dev(),
                found.ino(),
                found.size(),
                found.mtime(),
                found.mtime_nsec(),
                found.ctime(),
                found.ctime_nsec(),
            )
        });
        (path, found)
    };
    files.into_iter().map(look).collect()
}
