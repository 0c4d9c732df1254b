//! Following a configuration while the host runs: changes on disk are applied to the host.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::{Config, ConfigError};
use toolhost_core::Host;
use toolhost_service::follow::{Changes, Directories, Looks, WatchError, look};

/// The most attempts to read the files while they keep changing.
const ATTEMPTS: usize = 10;

/// Follows a configuration. Dropping it ends that.
#[derive(Debug)]
pub struct Watcher {
    task: JoinHandle<()>,
    settled: watch::Receiver<bool>,
    again: Arc<Notify>,
}

impl Watcher {
    /// Applies the plugins of a configuration to the host. From then on, applies every change of the configuration and of the
    /// files that it names.
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
        let again = Arc::new(Notify::new());
        let task = tokio::spawn(following.run(changes, applied, Arc::clone(&again)));
        Ok(Self {
            task,
            settled,
            again,
        })
    }

    /// Returns a function that makes the watcher read the files again, even if they look unchanged. Some changes are not
    /// noticed, such as on network file systems.
    pub fn reload(&self) -> impl Fn() + Send + 'static {
        let again = Arc::clone(&self.again);
        move || again.notify_one()
    }

    /// Waits until the configuration of the start was applied.
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
    /// The state of the files when they were last read as a whole; `None` if reading them failed.
    seen: Option<Looks>,
    /// The reason why reading them failed.
    problem: Option<String>,
    /// The last configuration that was valid by itself.
    config: Config,
    host: Host,
}

impl Following {
    async fn run(mut self, mut changes: Changes, applied: watch::Sender<bool>, again: Arc<Notify>) {
        self.refresh().await;
        applied.send_replace(true);
        loop {
            tokio::select! {
                changed = changes.settled() => if !changed { return },
                () = again.notified() => {
                    (self.seen, self.problem) = (None, None);
                }
            }
            self.refresh().await;
        }
    }

    /// Looks at the files, and applies them if one has changed.
    async fn refresh(&mut self) {
        if self.seen.is_some() && self.seen.as_ref() == Some(&look(self.config.dependencies())) {
            return;
        }
        // The files must look the same before and after they are read, also those that only the new text names.
        for _ in 0..ATTEMPTS {
            let looks = look(self.config.dependencies());
            let config = self.config.clone();
            let read = tokio::task::spawn_blocking(move || {
                let config = config.again()?;
                let set = config.plugins();
                Ok::<_, ConfigError>((set, config))
            });
            // The task fails only when the runtime ends, and then this task ends as well.
            let Ok(read) = read.await else { return };
            let (set, config) = match read {
                Ok(read) => read,
                Err(error) => {
                    self.failed(&error);
                    return;
                }
            };
            let same = looks == look(config.dependencies());
            // Also watch a configuration whose plugins cannot be looked up: the missing files may appear.
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
                self.compare();
                return;
            }
        }
        tracing::warn!("the configuration changes faster than it can be read");
        self.seen = None;
    }

    /// Logs the tools that tokens name and no plugin offers now.
    fn compare(&self) {
        let tools = self.host.tools();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        for problem in self.config.unknown_tools(&names) {
            tracing::warn!(%problem, "a token names a tool that is not offered");
        }
    }

    /// Takes note of a configuration that cannot be used: the next event leads to another look, whatever it is about.
    fn failed(&mut self, error: &ConfigError) {
        let problem = error.to_string();
        if self.problem.as_ref() != Some(&problem) {
            tracing::error!(%error, "nothing of the configuration was changed");
            let audit = self.host.audit();
            audit.record("configuration_refused", json!({ "error": problem }));
        }
        (self.seen, self.problem) = (None, Some(problem));
    }

    /// Takes a configuration as the one to watch.
    fn replace(&mut self, config: Config) {
        let (old, new) = (self.config.settings(), config.settings());
        let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        let changed = keys
            .into_iter()
            .filter(|key| old.get(*key) != new.get(*key));
        let changed: Vec<_> = changed.cloned().collect();
        if let (false, Some(file)) = (changed.is_empty(), config.path()) {
            tracing::warn!(
                settings = changed.join(", "),
                "settings other than those of plugins and tokens take effect at the next start"
            );
            let fields = json!({ "file": file.to_string_lossy(), "settings": changed });
            self.host.audit().record("settings_changed", fields);
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
