//! Following a configuration while the host runs: what changes on disk changes in the host.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Config, ConfigError};
use crate::host::Host;

/// How long nothing may have changed before it is looked at: a file that is being written is not whole.
const QUIET: Duration = Duration::from_millis(100);

/// How long it waits for that at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// Follows a configuration. Dropping it ends that.
#[derive(Debug)]
pub struct Watcher {
    task: JoinHandle<()>,
}

/// Why a configuration cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("changes of the configuration cannot be followed: {0}")]
pub struct WatchError(#[from] notify::Error);

impl Watcher {
    /// Applies to the host what changes in the configuration and in the files that it names.
    ///
    /// A configuration that is not valid is logged and changes nothing.
    ///
    /// # Errors
    ///
    /// If the system has no watches left.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(config: Config, host: Host) -> Result<Self, WatchError> {
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
        let mut following = Following {
            watcher,
            watched: BTreeSet::new(),
            seen: Vec::new(),
            config,
            host,
        };
        following.watch()?;
        following.seen = following.look();
        let task = tokio::spawn(following.run(told));
        Ok(Self { task })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Following {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    /// How the files looked when they were last read.
    seen: Vec<(PathBuf, Option<Look>)>,
    config: Config,
    host: Host,
}

/// What changes when a file does: device, inode, size, and the times of its last changes.
type Look = (u64, u64, u64, i64, i64, i64, i64);

impl Following {
    async fn run(mut self, mut told: mpsc::Receiver<()>) {
        while told.recv().await.is_some() {
            let patience = Instant::now() + PATIENCE;
            let quiet = async {
                while let Ok(Some(())) = tokio::time::timeout(QUIET, told.recv()).await {}
            };
            _ = tokio::time::timeout_at(patience, quiet).await;
            self.refresh().await;
        }
    }

    /// Looks at the files, and applies what they say if one has changed.
    async fn refresh(&mut self) {
        let seen = self.look();
        if seen == self.seen {
            return;
        }
        self.seen = seen;
        let config = self.config.clone();
        let read = tokio::task::spawn_blocking(move || {
            let config = config.again()?;
            Ok::<_, ConfigError>((config.plugins()?, config))
        });
        // The task ends with the runtime only, and then this does as well.
        let Ok(read) = read.await else { return };
        match read {
            Ok((set, config)) => {
                if config.settings() != self.config.settings() {
                    tracing::warn!(
                        "settings other than those of plugins take effect at the next start"
                    );
                }
                self.config = config;
                // What is new must be watched before it is read, or a change in between is missed.
                if let Err(error) = self.watch() {
                    tracing::error!(%error, "not all files of the configuration are watched");
                }
                self.seen = self.look();
                self.host.apply(set).await;
            }
            Err(error) => tracing::error!(%error, "nothing of the configuration was changed"),
        }
    }

    /// Watches the directories of all files, because files are replaced by others.
    fn watch(&mut self) -> notify::Result<()> {
        let mut wanted = BTreeSet::new();
        for path in self.config.dependencies() {
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

    fn look(&self) -> Vec<(PathBuf, Option<Look>)> {
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
        self.config.dependencies().into_iter().map(look).collect()
    }
}
