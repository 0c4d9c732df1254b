//! The configuration file, `toolhost.toml`: which plugins there are, what they are granted, and defaults for the flags of
//! the command line.
//!
//! ```toml
//! listen = "127.0.0.1:7411"          # any flag, with `_` for `-`
//! plugin_dir = "plugins"             # every *.wasm in it is a plugin of that name, with nothing granted
//!
//! [workspace]
//! dir = "."
//!
//! [plugins.weather]
//! component = "plugins/weather.wasm" # relative to this file, as all paths here
//! sha256 = "…"                       # refuses any other component
//! enabled = true
//! grants = { http = ["api.weather.gov"], files = "read" }
//! settings = { units = "metric" }
//! secrets = { key = { file = "weather.key" } }
//! limits = { memory = "32MiB", deadline = "30s" }
//!
//! [tokens.support]                   # who may use a server, besides the token that it was started with
//! sha256 = "…"                       # of the token, or file = "support.token"
//! scopes = ["call", "read"]
//! chats = "support-"
//!
//! [plugins.files]                    # an embedded plugin has no component; it can be turned off and limited
//! enabled = false
//! ```
//!
//! What is not known is an error, with its line. Secrets are in files or variables, never here.

mod follow;
mod grants;
mod limits;
mod plugins;
mod tokens;
mod values;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::host::PluginSet;
use plugins::Tables;

pub use follow::Follower;
pub use plugins::name_of;
pub use tokens::{InvalidTokenName, NamedToken, TokenSource, check_token_name};
pub use watch::{WatchError, Watcher};

/// The largest configuration file, and the largest file with a secret, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A configuration: what a file says, and what was added to it.
#[derive(Clone, Debug)]
pub struct Config {
    /// `None`: there is no file, only what was added.
    path: Option<PathBuf>,
    /// What relative paths begin at.
    base: PathBuf,
    /// Components that were named elsewhere, by the names of their plugins.
    added: BTreeMap<String, PathBuf>,
    plugin_dir: Option<PathBuf>,
    plugins: Tables,
    /// Not read further than this: see [`tokens`].
    tokens: Option<toml::Value>,
    settings: toml::Table,
}

/// Why a configuration cannot be used. The texts name the file, and the line or the key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("the configuration {path} cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is not what a configuration may be.
    #[error("the configuration {path}is not valid: {text}", path = shown(path))]
    Invalid {
        /// The file; empty if there is none.
        path: PathBuf,
        /// Where, and what is wrong.
        text: String,
    },
}

/// Returns what is wrong and where. The line itself stays out of logs: somebody may have written a secret there.
fn place(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return message.to_owned();
    };
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    format!("line {line}, column {column}: {message}")
}

/// A configuration without a file has no name.
fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        String::new()
    } else {
        format!("{} ", path.display())
    }
}

/// Components in a directory, by the names of their plugins.
type Components = Vec<(String, PathBuf)>;

/// What is ours in the file. All else is for the command line.
#[derive(Debug, Deserialize)]
struct File {
    plugin_dir: Option<PathBuf>,
    #[serde(default)]
    plugins: Tables,
    tokens: Option<toml::Value>,
    #[serde(flatten)]
    settings: toml::Table,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = values::read(path).map_err(|source| ConfigError::Unreadable {
            path: path.into(),
            source,
        })?;
        let invalid = |text: String| ConfigError::Invalid {
            path: path.into(),
            text,
        };
        let file: File = toml::from_str(&text).map_err(|error| invalid(place(&text, &error)))?;
        // As an absolute path, so that what it names is found wherever this program goes.
        let path = std::path::absolute(path).map_err(|error| invalid(error.to_string()))?;
        let base = path.parent().unwrap_or_else(|| Path::new("/"));
        Ok(Self {
            base: base.to_owned(),
            path: Some(path),
            added: BTreeMap::new(),
            plugin_dir: file.plugin_dir,
            plugins: file.plugins,
            tokens: file.tokens,
            settings: file.settings,
        })
    }

    /// Reads the same file again, and adds what was added.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn again(&self) -> Result<Self, ConfigError> {
        let read = match &self.path {
            Some(path) => Self::read(path)?,
            None => Self::without_file(self.base.clone()),
        };
        Ok(Self {
            added: self.added.clone(),
            ..read
        })
    }

    /// Makes a configuration without a file. Relative paths begin at this directory.
    pub fn without_file(base: PathBuf) -> Self {
        Self {
            path: None,
            base,
            added: BTreeMap::new(),
            plugin_dir: None,
            plugins: Tables::new(),
            tokens: None,
            settings: toml::Table::new(),
        }
    }

    /// Adds a plugin, or names another component for one that the file has.
    #[must_use]
    pub fn with_plugin(mut self, name: impl Into<String>, component: impl Into<PathBuf>) -> Self {
        self.added.insert(name.into(), component.into());
        self
    }

    /// Returns what the file says besides plugins and tokens: defaults for the flags of the command line.
    pub fn settings(&self) -> &toml::Table {
        &self.settings
    }

    /// Returns a path of the configuration as an absolute one.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }

    /// Returns the tokens that the file names.
    ///
    /// # Errors
    ///
    /// If one of them is not what a token may be. The text names the token and the key, and repeats no value.
    pub fn tokens(&self) -> Result<Vec<NamedToken>, ConfigError> {
        let invalid = |text: String| ConfigError::Invalid {
            path: self.path.clone().unwrap_or_default(),
            text,
        };
        tokens::read(self.tokens.as_ref(), self).map_err(invalid)
    }

    /// Returns every path that the tokens depend on, which is what to watch.
    pub fn token_files(&self) -> Vec<PathBuf> {
        let files = tokens::files(self.tokens.as_ref());
        let files = files.map(|path| self.resolve(path));
        self.path.iter().cloned().chain(files).collect()
    }

    /// Returns the plugins that should be there. Secrets are read, variables looked up, and the directory of plugins listed
    /// anew each time. What makes no sense for one plugin is in [`PluginSet::broken`].
    ///
    /// # Errors
    ///
    /// If the directory of plugins cannot be read.
    pub fn plugins(&self) -> Result<PluginSet, ConfigError> {
        let invalid = |text: String| ConfigError::Invalid {
            path: self.path.clone().unwrap_or_default(),
            text,
        };
        let mut set = PluginSet::default();
        let (found, twice) = self.in_directory().map_err(invalid)?;
        for (name, problem) in twice {
            set.broken.insert(name, problem);
        }
        let mut tables = self.plugins.clone();
        for (name, path) in found {
            let table = tables.entry(name).or_default();
            table.component.get_or_insert(path);
        }
        for (name, path) in &self.added {
            let table = tables.entry(name.clone()).or_default();
            table.component = Some(path.clone());
        }
        for (name, table) in tables {
            // One that makes no sense, or whose secret is not there now, keeps nobody else from working.
            if let Err(problem) = table.add_to(&mut set, &name, self) {
                set.broken.insert(name, problem);
            }
        }
        let broken = &set.broken;
        set.sources
            .retain(|source| !broken.contains_key(&source.options.name));
        Ok(set)
    }

    /// Returns every path that the plugins depend on, which is what to watch.
    pub fn dependencies(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self.path.iter().cloned().collect();
        let directory = self.plugin_dir.as_deref().map(|path| self.resolve(path));
        paths.extend(directory);
        let (found, _) = self.in_directory().unwrap_or_default();
        paths.extend(found.into_iter().map(|(_, path)| path));
        paths.extend(self.added.values().map(|path| self.resolve(path)));
        for table in self.plugins.values() {
            paths.extend(table.paths().map(|path| self.resolve(path)));
        }
        paths
    }

    /// Returns the components in the directory of plugins, by their names, and what is wrong with some.
    fn in_directory(&self) -> Result<(Components, Vec<(String, String)>), String> {
        let Some(directory) = self.plugin_dir.as_deref().map(|path| self.resolve(path)) else {
            return Ok(Default::default());
        };
        let unreadable = |error: std::io::Error| {
            format!(
                "the plugin_dir {} cannot be read: {error}",
                directory.display()
            )
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_component = path
                .extension()
                .is_some_and(|extension| extension == "wasm");
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            if let Some(stem) = stem.filter(|stem| is_component && !stem.starts_with('.')) {
                found.push((name_of(stem), path));
            }
        }
        found.sort();
        let twice = found
            .array_windows()
            .filter(|[first, second]| first.0 == second.0)
            .map(|[first, second]| {
                let (one, other) = (first.1.display(), second.1.display());
                let problem = format!("{one} and {other} are both named like it: rename one");
                (first.0.clone(), problem)
            })
            .collect();
        Ok((found, twice))
    }
}

#[cfg(test)]
mod tests;
