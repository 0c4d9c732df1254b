//! Following a configuration while the host runs: changes on disk are applied to the host.

use std::path::PathBuf;

use serde_json::json;

use super::{Config, ConfigError};
use toolhost_core::{Host, PluginSet};
use toolhost_service::follow::{Followed, Follower, WatchError};

/// Applies the plugins of a configuration to the host. From then on, applies every change of the configuration and of the files
/// that it names.
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
pub fn follow(config: Config, host: Host) -> Result<Follower, WatchError> {
    Follower::start(Following {
        problem: None,
        config,
        host,
    })
}

struct Following {
    /// The reason why the last reading failed.
    problem: Option<String>,
    /// The last configuration that was valid by itself.
    config: Config,
    host: Host,
}

impl Followed for Following {
    type Read = Result<PluginSet, ConfigError>;

    fn files(&self) -> Vec<PathBuf> {
        self.config.dependencies()
    }

    fn read(&mut self) -> Self::Read {
        let config = self.config.reread()?;
        let set = config.plugins();
        // Also follow a configuration whose plugins cannot be looked up: the missing files may appear.
        self.replace(config);
        set
    }

    fn reloaded(&mut self) {
        self.problem = None;
    }

    async fn take(&mut self, read: Self::Read) -> bool {
        match read {
            Ok(set) => {
                self.problem = None;
                self.host.apply(set).await;
                self.compare();
                true
            }
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }
}

impl Following {
    /// Logs the tools that tokens name and that are not offered now.
    fn compare(&self) {
        let tools = self.host.tools();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        for problem in self.config.unknown_tools(&names) {
            tracing::warn!(%problem, "a token names a tool that is not offered");
        }
    }

    /// Logs and records why a configuration cannot be used, unless that was the reason before.
    fn failed(&mut self, error: &ConfigError) {
        let problem = error.to_string();
        if self.problem.as_ref() != Some(&problem) {
            tracing::error!(%error, "the configuration stays as it was");
            let audit = self.host.audit();
            audit.record("configuration_refused", json!({ "error": problem }));
        }
        self.problem = Some(problem);
    }

    /// Follows this configuration from now on.
    fn replace(&mut self, config: Config) {
        let changed = config.changed_settings(&self.config);
        if let (false, Some(file)) = (changed.is_empty(), config.path()) {
            tracing::warn!(
                settings = changed.join(", "),
                "settings other than those of plugins and tokens take effect at the next start"
            );
            let fields = json!({ "file": file.to_string_lossy(), "settings": changed });
            self.host.audit().record("settings_changed", fields);
        }
        self.config = config;
    }
}
