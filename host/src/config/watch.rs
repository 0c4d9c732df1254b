//! Following a configuration while the host runs: what changes on disk changes in the host.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Config, ConfigError};
use crate::host::Host;

/// How long nothing may have changed before it is looked at: a file that is being written is not whole.
const QUIET: Duration = Duration::from_millis(100);

/// How often what changes while it is read is read again.
const ATTEMPTS: usize = 10;

/// How long it waits for that at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// Follows a configuration. Dropping it ends that.
#[derive(Debug)]
pub struct Watcher {
    task: JoinHandle<()>,
    settled: watch::Receiver<bool>,
}

/// Why a configuration cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("changes of the configuration cannot be followed: {0}")]
pub struct WatchError(#[from] notify::Error);

impl Watcher {
    /// Applies the plugins of a configuration to the host, and from then on what changes in it and in the files that it names.
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
            seen: None,
            problem: None,
            config,
            host,
        };
        following.watch()?;
        let (applied, settled) = watch::channel(false);
        let task = tokio::spawn(following.run(told, applied));
        Ok(Self { task, settled })
    }

    /// Waits until what the configuration said at the start was applied.
    pub async fn applied(&self) {
        // An error says that the task has ended with its runtime.
        _ = self.settled.clone().wait_for(|applied| *applied).await;
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
    /// How the files looked when they were last read as a whole; `None`: they could not be.
    seen: Option<Looks>,
    /// Why they could not be.
    problem: Option<String>,
    /// The last one that was valid by itself.
    config: Config,
    host: Host,
}

type Looks = Vec<(PathBuf, Option<Look>)>;

/// What changes when a file does: device, inode, size, and the times of its last changes.
type Look = (u64, u64, u64, i64, i64, i64, i64);

impl Following {
    async fn run(mut self, mut told: mpsc::Receiver<()>, applied: watch::Sender<bool>) {
        self.refresh().await;
        applied.send_replace(true);
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
        if self.seen.is_some() && self.seen.as_ref() == Some(&look(&self.config)) {
            return;
        }
        // What is read must be what was looked at, and of what the new text names as well.
        for _ in 0..ATTEMPTS {
            let looks = look(&self.config);
            let config = self.config.clone();
            let read = tokio::task::spawn_blocking(move || {
                let config = config.again()?;
                let set = config.plugins();
                Ok::<_, ConfigError>((set, config))
            });
            // The task ends with the runtime only, and then this does as well.
            let Ok(read) = read.await else { return };
            let (set, config) = match read {
                Ok(read) => read,
                Err(error) => {
                    self.failed(&error);
                    return;
                }
            };
            let same = looks == look(&config);
            // Also one whose plugins cannot be looked up: what it lacks may come.
            self.replace(config);
            let set = match set {
                Ok(set) => set,
                Err(error) => {
                    self.failed(&error);
                    return;
                }
            };
            if same {
                (self.seen, self.problem) = (Some(looks), None);
                self.host.apply(set).await;
                return;
            }
        }
        tracing::warn!("the configuration changes faster than it can be read");
        self.seen = None;
    }

    /// Takes note of a configuration that cannot be used: the next event leads to another look, whatever it is about.
    fn failed(&mut self, error: &ConfigError) {
        let problem = error.to_string();
        if self.problem.as_ref() != Some(&problem) {
            tracing::error!(%error, "nothing of the configuration was changed");
        }
        (self.seen, self.problem) = (None, Some(problem));
    }

    /// Takes a configuration as the one to watch.
    fn replace(&mut self, config: Config) {
        if config.settings() != self.config.settings() {
            tracing::warn!("settings other than those of plugins take effect at the next start");
        }
        self.config = config;
        if let Err(error) = self.watch() {
            tracing::error!(%error, "not all files of the configuration are watched");
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
}

/// Looks at every file that the plugins depend on.
fn look(config: &Config) -> Looks {
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
    config.dependencies().into_iter().map(look).collect()
}
