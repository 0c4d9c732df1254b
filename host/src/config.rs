//! The configuration file, `toolhost.toml`: which plugins there are, what they are granted, and defaults for the flags of
//! the command line.
//!
//! ```toml
//! listen = "127.0.0.1:7411"          # any flag, with `_` for `-`
//! plugin_dir = "plugins"             # every *.wasm in it is a plugin of that name, with nothing granted
//!
//! [workspace]
//! dir = "/srv/project"
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
//! [tokens.support]                   # a client of the server, besides the token that it was started with sha256 = "…"
//! # of the token, or file = "support.token" scopes = ["call", "read"] chats = "support-"
//!
//! [plugins.files]                    # an embedded plugin has no component; it can be turned off and limited
//! enabled = false
//! ```
//!
//! Unknown keys are errors. All mistakes are found at once, each with its line. Secrets are in files or variables,
//! never here.

mod cluster;
mod error;
mod grants;
mod images;
mod limits;
mod optional;
mod packages;
mod plugins;
mod private;
mod problems;
mod scripts;
mod section;
mod store;
mod templates;
mod tokens;
mod values;
mod watch;
mod webhooks;
mod workspaces;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, ValueDeserializer};

use plugins::Plugins;
use problems::{Lines, Positions, below};
use section::Section;
use toolhost_core::{PluginSet, SCRIPT, named_files};
use toolhost_http::webhooks::Webhook;
use toolhost_machine::Template;
use toolhost_package::Lock;
use toolhost_state::trusted::{self, UntrustedError, check_directory};

pub use cluster::Cluster;
pub use error::ConfigError;
pub use packages::Package;
pub use plugins::{Added, read_secret};
pub(crate) use problems::MOST;
pub use problems::{Position, Problem, meant, unknown};
pub use store::Store;
pub use tokens::{InvalidTokenName, NamedToken, TokenSource, check_token_name};
pub use toolhost_core::name_of;
pub use watch::follow;
pub use workspaces::Workspaces;

/// A configuration: the content of a file, and the plugins that were added to it.
#[derive(Clone, Debug)]
pub struct Config {
    /// `None`: there is no file, only added plugins.
    path: Option<PathBuf>,
    /// The directory at which relative paths begin.
    base: PathBuf,
    /// Plugins that were named elsewhere, by their names.
    added: BTreeMap<String, Added>,
    plugin_dir: Option<PathBuf>,
    plugins: Plugins,
    tokens: Vec<NamedToken>,
    workspaces: Workspaces,
    templates: BTreeMap<String, Template>,
    store: Option<Store>,
    cluster: Cluster,
    webhooks: Vec<(String, Webhook)>,
    settings: toml::Table,
    positions: Positions,
    check: CheckSettings,
    /// The embedded plugins to load of those that a host has only on request.
    optional: BTreeSet<&'static str>,
}

/// A check of the settings of a configuration. It returns the path of each wrong key, and its problem.
pub type CheckSettings = fn(&Config) -> Vec<(String, String)>;

/// Components in a directory, by the names of their plugins.
type Components = Vec<(String, PathBuf)>;

/// A plugin that cannot be used: its name, the wrong key or `""`, and the problem.
type Unusable = (String, String, String);

impl Config {
    /// Reads a file without a check of its settings.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::read_with(path, |_| Vec::new())
    }

    /// Reads a file, and has its settings checked by the program that they are for.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn read_with(path: &Path, check: CheckSettings) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable {
            path: path.into(),
            source,
        };
        let text = trusted::read(path).map_err(|error| match error {
            UntrustedError::Unreadable { error, .. } => unreadable(error),
            other => ConfigError::Untrusted(other),
        })?;
        // Make the path absolute, so that the files that it names are found from any working directory.
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        Self::parse(&text, absolute, check).map_err(|problems| ConfigError::Invalid {
            path: path.into(),
            problems,
        })
    }

    fn parse(text: &str, path: PathBuf, check: CheckSettings) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            // Further mistakes may be consequences of a mistake of syntax.
            let lines = Lines::of(text);
            let problem = |error: toml::de::Error| Problem {
                place: error.span().map(|span| lines.place(span.start)),
                key: String::new(),
                // The line itself stays out of logs: it may contain a secret.
                text: error.message().to_owned(),
            };
            return Err(errors.into_iter().map(problem).collect());
        }
        let table = table.into_inner();
        let positions = Positions::of(text, &table);
        let found = RefCell::default();
        let base = path.parent().unwrap_or_else(|| Path::new("/")).to_owned();
        let mut section = Section::new("", table, &found);
        let workspaces = section
            .section_of("workspaces", workspaces::WRITTEN)
            .map(|section| workspaces::read(section, &base))
            .unwrap_or_default();
        let store = section
            .section_of("store", store::WRITTEN)
            .and_then(|section| store::read(section, &base, &workspaces));
        let has_store = section.has_key("store");
        let mut config = Self {
            cluster: section
                .section_of("cluster", cluster::WRITTEN)
                .map(|section| cluster::read(section, &base, store.as_ref(), has_store))
                .unwrap_or_default(),
            store,
            webhooks: section
                .section_of("webhooks", webhooks::WRITTEN)
                .map(|section| webhooks::read(section, &base))
                .unwrap_or_default(),
            plugin_dir: section.text("plugin_dir").map(PathBuf::from),
            plugins: section
                .section_of("plugins", plugins::WRITTEN)
                .map(|section| plugins::read(section, &base))
                .unwrap_or_default(),
            templates: templates::read(&mut section, &base),
            tokens: section
                .section_of("tokens", tokens::WRITTEN)
                .map(|section| tokens::read(section, &base))
                .unwrap_or_default(),
            workspaces,
            path: Some(path),
            positions,
            check,
            ..Self::without_file(base)
        };
        for (key, value) in section.rest() {
            match toml::Value::deserialize(ValueDeserializer::from(value)) {
                Ok(value) => _ = config.settings.insert(key, value),
                Err(error) => section.wrong(&key, error.message()),
            }
        }
        let positions = &config.positions;
        let found = found.into_inner().into_iter().map(|found| Problem {
            key: found.shown,
            ..positions.problem(found.key, found.text)
        });
        let settings = check(&config).into_iter();
        let settings = settings.map(|(key, text)| positions.problem(key, text));
        let problems: Vec<_> = found.chain(settings).collect();
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(problems)
        }
    }

    /// Reads the same file again, and keeps the added plugins.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn reread(&self) -> Result<Self, ConfigError> {
        let read = match &self.path {
            Some(path) => Self::read_with(path, self.check)?,
            None => Self::without_file(self.base.clone()),
        };
        Ok(Self {
            added: self.added.clone(),
            optional: self.optional.clone(),
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
            plugins: Plugins::new(),
            tokens: Vec::new(),
            workspaces: Workspaces::default(),
            templates: BTreeMap::new(),
            store: None,
            cluster: Cluster::default(),
            webhooks: Vec::new(),
            settings: toml::Table::new(),
            positions: Positions::default(),
            check: |_| Vec::new(),
            optional: BTreeSet::new(),
        }
    }

    /// Makes a problem of a key of the file. The key is a path, such as `tokens.a.tools`.
    pub fn problem(&self, key: impl Into<String>, text: impl Into<String>) -> Problem {
        self.positions.problem(key, text)
    }

    /// Makes an error of all these problems.
    pub fn invalid(&self, problems: Vec<Problem>) -> ConfigError {
        ConfigError::Invalid {
            path: self.path.clone().unwrap_or_default(),
            problems,
        }
    }

    /// Adds a plugin. One that the file has gets another component, and the grants and settings beside those of the file.
    #[must_use]
    pub fn with_plugin(mut self, name: impl Into<String>, plugin: Added) -> Self {
        self.added.insert(name.into(), plugin);
        self
    }

    /// Returns the path of the file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the settings of the file, without plugins and tokens: defaults for the flags of the command line.
    pub fn settings(&self) -> &toml::Table {
        &self.settings
    }

    /// Returns the names of the settings that differ from those of another configuration.
    pub fn changed_settings(&self, other: &Self) -> Vec<String> {
        let keys: BTreeSet<_> = self.settings.keys().chain(other.settings.keys()).collect();
        let changed = keys
            .into_iter()
            .filter(|key| self.settings.get(*key) != other.settings.get(*key));
        let webhooks = (self.webhooks != other.webhooks).then(|| "webhooks".to_owned());
        changed.cloned().chain(webhooks).collect()
    }

    /// Returns a problem for each tool that a token names and that is not among the offered tools.
    pub fn unknown_tools(&self, offered: &[&str]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for token in &self.tokens {
            let key = format!("tokens.{}.tools", token.name);
            for tool in token.tools.iter().flatten() {
                if offered.contains(&tool.as_str()) {
                    continue;
                }
                let ending = format!("__{tool}");
                let full = offered.iter().filter(|name| name.ends_with(&ending));
                let full: Vec<_> = full.map(|name| format!("{name:?}")).collect();
                let text = match full.join(" or ") {
                    full if full.is_empty() => unknown(tool, "tool", offered),
                    full => format!("several plugins offer a tool of this name: write {full}"),
                };
                problems.push(self.problem(&key, format!("{tool:?}: {text}")));
            }
        }
        problems
    }

    /// Returns a path of the configuration as an absolute one.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }

    /// Returns the tokens that the file names.
    pub fn tokens(&self) -> &[NamedToken] {
        &self.tokens
    }

    /// Returns where workspaces with names are, as far as the file says so.
    pub fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }

    /// Returns the store that several hosts share, if the file has one.
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Returns what the hosts of that store do for each other.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns the webhooks for notices, by their names.
    pub fn webhooks(&self) -> &[(String, Webhook)] {
        &self.webhooks
    }

    /// Returns every path that the tokens depend on, to be watched.
    pub fn token_files(&self) -> Vec<PathBuf> {
        let files = self.tokens.iter().filter_map(|token| match &token.source {
            TokenSource::File(path) => Some(path.clone()),
            TokenSource::Sha256(_) => None,
        });
        self.path.iter().cloned().chain(files).collect()
    }

    /// Returns the plugins that should be there. Secrets are read, variables looked up, and the directory of plugins listed
    /// anew each time. A plugin for which one of these fails is in [`PluginSet::broken`].
    ///
    /// # Errors
    ///
    /// If the directory of plugins cannot be read.
    pub fn plugins(&self) -> Result<PluginSet, ConfigError> {
        let (mut set, problems) = self.look_up()?;
        for (name, key, text) in problems {
            let told = set.broken.entry(name).or_default();
            let separator = if told.is_empty() { "" } else { "; " };
            let colon = if key.is_empty() { "" } else { ": " };
            *told = format!("{told}{separator}{key}{colon}{text}");
        }
        Ok(set)
    }

    /// Returns the problems of plugins, workspaces and webhooks that need files or variables which are missing now.
    pub fn missing(&self) -> Vec<Problem> {
        let problems = match self.look_up() {
            Ok((_, mut problems)) => {
                // Also where the flags load no scripts.
                let library = self.plugins.get(SCRIPT);
                let library = library.and_then(|plugin| plugin.library.as_deref());
                problems.extend(library.and_then(|path| scripts::problem(&self.resolve(path))));
                problems
            }
            Err(ConfigError::Invalid { problems, .. }) => return problems,
            Err(error) => return vec![self.problem("", error.to_string())],
        };
        let problem = |(name, key, text): (String, String, String)| {
            let path = below("plugins", &name);
            let path = match key.as_str() {
                "" => path,
                key => below(&path, key),
            };
            self.problem(path, text)
        };
        let workspaces = self.workspaces.unusable().into_iter();
        let workspaces = workspaces.map(|(key, text)| self.problem(key, text));
        let webhooks = self.webhooks.iter().filter_map(|(name, webhook)| {
            let error = webhook.check().err()?;
            Some(self.problem(below("webhooks", name), error.to_string()))
        });
        problems
            .into_iter()
            .map(problem)
            .chain(workspaces)
            .chain(webhooks)
            .collect()
    }

    /// Returns the plugins that can be looked up. For the others, returns the names, the keys, and the problems.
    fn look_up(&self) -> Result<(PluginSet, Vec<Unusable>), ConfigError> {
        let mut set = PluginSet::default();
        let (found, mut problems) = self
            .in_directory()
            .map_err(|problem| self.invalid(vec![self.problem("plugin_dir", problem)]))?;
        let mut all = self.plugins.clone();
        for (name, path) in found {
            let plugin = all.entry(name).or_default();
            if plugin.package.is_none() {
                plugin.component.get_or_insert(path);
            }
        }
        for (name, added) in &self.added {
            all.entry(name.clone()).or_default().add(added);
        }
        for name in &self.optional {
            all.entry((*name).to_owned()).or_default();
        }
        for (name, plugin) in all {
            // A plugin without its secret fails alone; the others load.
            if let Err(missing) = plugin.add_to(&mut set, &name, self) {
                let missing = missing.into_iter();
                problems.extend(missing.map(|(key, text)| (name.clone(), key, text)));
            }
        }
        set.sources.retain(|source| {
            let name = &source.options.name;
            !problems.iter().any(|(broken, ..)| broken == name)
        });
        Ok((set, problems))
    }

    /// Returns the plugins whose components are packages of a registry, by their names.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &Package)> {
        let all = self.plugins.iter();
        all.filter_map(|(name, plugin)| Some((name.as_str(), plugin.package.as_ref()?)))
    }

    /// Returns the file that says what the packages were when they were pulled; `None` if there is no configuration file.
    pub fn lock_file(&self) -> Option<PathBuf> {
        self.path.as_deref().map(Lock::path)
    }

    /// Returns every path that the plugins depend on, to be watched.
    pub fn dependencies(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self.path.iter().cloned().collect();
        if self.packages().next().is_some() {
            paths.extend(self.lock_file());
        }
        let directory = self.plugin_dir.as_deref().map(|path| self.resolve(path));
        paths.extend(directory);
        let (found, _) = self.in_directory().unwrap_or_default();
        paths.extend(found.into_iter().map(|(_, path)| path));
        paths.extend(
            self.added
                .values()
                .map(|added| self.resolve(&added.component)),
        );
        for table in self.plugins.values() {
            paths.extend(table.paths().map(|path| self.resolve(path)));
            let library = table.library.iter().map(|path| self.resolve(path));
            paths.extend(library.flat_map(scripts::paths));
        }
        paths
    }

    /// Returns the components in the directory of plugins, by their names, and the plugins that cannot be used.
    fn in_directory(&self) -> Result<(Components, Vec<Unusable>), String> {
        let Some(directory) = self.plugin_dir.as_deref().map(|path| self.resolve(path)) else {
            return Ok(Default::default());
        };
        let unreadable = |error: std::io::Error| {
            format!(
                "the plugin_dir {} cannot be read: {error}",
                directory.display()
            )
        };
        check_directory(&directory)
            .map_err(|error| format!("the plugin_dir cannot be used: {error}"))?;
        let found = named_files(&directory, &["wasm"]).map_err(unreadable)?;
        let twice = found
            .array_windows()
            .filter(|[first, second]| first.0 == second.0)
            .map(|[first, second]| {
                let (one, other) = (first.1.display(), second.1.display());
                let problem = format!("{one} and {other} are both named like it: rename one");
                (first.0.clone(), String::new(), problem)
            })
            .collect();
        Ok((found, twice))
    }
}

#[cfg(test)]
mod tests;
