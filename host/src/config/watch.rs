//! Following a configuration while the host runs: what changes on disk changes in the host.

pub(super) mod directories;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Config, ConfigError};
use crate::host::Host;
use directories::{Changes, Directories, Looks, look};

/// How often what changes while it is read is read again.
const ATTEMPTS: usize = 10;

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
        let (directories, changes) = Directories::new()?;
        let mut following = Following {
            directories,
            seen: None,
            problem: None,
            config,
            host,
        };
        following.watch()?;
        let (applied, settled) = watch::channel(false);
        let task = tokio::spawn(following.run(changes, applied));
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
    directories: Directories,
    /// How the files looked when they were last read as a whole; `None`: they could not be.
    seen: Option<Looks>,
    /// Why they could not be.
    problem: Option<String>,
    /// The last one that was valid by itself.
    config: Config,
    host: Host,
}

impl Following {
    async fn run(mut self, mut changes: Changes, applied: watch::Sender<bool>) {
        self.refresh().await;
        applied.send_replace(true);
        while changes.settled().await {
            self.refresh().await;
        }
    }

    /// Looks at the files, and applies what they say if one has changed.
    async fn refresh(&mut self) {
        if self.seen.is_some() && self.seen.as_ref() == Some(&look(self.config.dependencies())) {
            return;
        }
        // What is read must be what was looked at, and of what the new text names as well.
        for _ in 0..ATTEMPTS {
            let looks = look(self.config.dependencies());
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
            let same = looks == look(config.dependencies());
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
            tracing::warn!(
                "settings other than those of plugins and tokens take effect at the next start"
            );
        }
        self.config = config;
        if let Err(error) = self.watch() {
            tracing::error!(%error, "not all files of the configuration are watched");
        }
    }

    fn watch(&mut self) -> notify::Result<()> {
        self.directories.watch(self.config.dependencies())
    }
}
