//! The plugins of a host while it runs: loaded, exchanged for newer versions, turned off and on.
//!
//! One change at a time. If a version does not load, the former version stays, unless its options have changed. Callers see a
//! snapshot ([`Table`]) that is replaced as a whole, so that no call waits for a slow compilation.

mod entry;
mod granted;
pub mod library;
mod named_files;
mod shared;
mod source;
mod table;
mod tally;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::RwLock;
use serde_json::json;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinError;

use toolhost_call::audit::Audit;
use toolhost_call::call::Actor;
use toolhost_call::metrics::{self, LimitKind, Metrics};
use toolhost_call::tool::Format;
use toolhost_plugin::{Engine, LoadError, Options, Plugin, changes};
use toolhost_store::{Store, StoreError};
use toolhost_workspace::Workspace;

use entry::Entry;
pub use entry::{PluginInfo, PluginState};
use granted::Granted;
pub use named_files::{name_of, named_files};
pub use source::{Component, Embedded, PluginSet, PluginSource};
pub(super) use table::Table;
pub(super) use table::{Listed, Route};
pub use tally::Latency;

/// The principal in the audit trail of a change that the configuration makes.
const CONFIGURATION: &str = "configuration";

/// Why a plugin cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// There is no plugin of this name.
    #[error("there is no plugin {name:?}; the plugins are {}", .known.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// The names of all plugins.
        known: Vec<String>,
    },
    /// The plugin does not load. Its former version stays, if it has one.
    #[error("plugin {name} cannot be loaded: {source}")]
    Load {
        /// The name of the plugin.
        name: String,
        /// The reason.
        source: LoadError,
    },
    /// The plugin is turned on or off at this host, and the store cannot tell the others.
    #[error(
        "plugin {name} is changed at this host alone, because the others cannot be told: {source}"
    )]
    Untold {
        /// The name of the plugin.
        name: String,
        /// The reason.
        source: StoreError,
    },
    /// The host failed.
    #[error("the host failed: {0}")]
    Host(String),
}

/// A change of a plugin that an administrator makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginChange {
    /// Turns the plugin on, until its setting in the configuration changes or the host ends. Hosts with a common store do it together,
    /// and those that start later follow.
    Enable,
    /// Turns the plugin off, as [`PluginChange::Enable`] turns it on.
    Disable,
    /// Loads the plugin again even if it has not changed, and ends its quarantine.
    Reload,
}

/// All plugins of a host.
#[derive(Debug)]
pub(super) struct Plugins {
    engine: Engine,
    /// The default workspace.
    workspace: Arc<dyn Workspace>,
    audit: Audit,
    metrics: Metrics,
    store: Arc<dyn Store>,
    /// In the order in which their tools are listed.
    entries: Mutex<Vec<Entry>>,
    table: RwLock<Arc<Table>>,
    /// Counts the changes of the list of tools.
    changes: watch::Sender<u64>,
}

impl Plugins {
    pub(super) fn new(
        engine: Engine,
        workspace: Arc<dyn Workspace>,
        audit: Audit,
        metrics: Metrics,
        store: Arc<dyn Store>,
    ) -> Self {
        Self {
            engine,
            workspace,
            audit,
            metrics,
            store,
            entries: Mutex::default(),
            table: RwLock::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Returns the table of this moment.
    pub(super) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read())
    }

    /// Keeps the plugins of this moment loaded until the process ends.
    pub(super) fn leave_loaded(&self) {
        for plugin in self.table().loaded() {
            std::mem::forget(Arc::clone(plugin));
        }
    }

    /// Returns the number of changes of the list of tools so far, and a way to wait for the next.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Adds a plugin that is part of the host, which must load unless it is loaded already. A loaded one has the whole workspace.
    pub(super) async fn add(
        &self,
        source: PluginSource,
        loaded: Option<Arc<Plugin>>,
    ) -> Result<(), LoadError> {
        let mut entries = self.entries.lock().await;
        let mut entry = Entry::new(source, true);
        match loaded {
            Some(plugin) => {
                entry.tried = Some(source::mark(&entry.source.read().await));
                let header = plugin.header(&entry.source.options);
                self.audit.record("plugin", header);
                let of_default = Arc::clone(&self.workspace);
                let roots = None;
                entry.take(plugin, Granted { of_default, roots });
            }
            None => self.load(&mut entry, true).await?,
        }
        entries.push(entry);
        self.publish(&entries);
        Ok(())
    }

    /// Applies a configuration: loads plugins that are new or have changed, and removes those that it no longer names. A
    /// plugin that does not load is logged and listed. Its former version stays, unless its options have changed.
    pub(super) async fn apply(&self, set: PluginSet) {
        let mut entries = self.entries.lock().await;
        let whole = |entry: &&mut Entry| !set.broken.contains_key(entry.name());
        let embedded = entries.iter_mut().filter(|entry| entry.embedded);
        for entry in embedded.filter(whole) {
            let wanted = entry.overridden(set.embedded.get(entry.name()));
            self.update(entry, wanted).await;
        }
        let named = |entry: &Entry| {
            let mut sources = set.sources.iter();
            set.broken.contains_key(entry.name())
                || sources.any(|source| source.options.name == entry.name())
        };
        entries.retain(|entry| {
            let stays = entry.embedded || named(entry);
            if !stays {
                tracing::info!(plugin = entry.name(), "the plugin was removed");
                entry.on.store(false, Ordering::Relaxed);
                self.audit
                    .record("plugin_removed", json!({ "plugin": entry.name() }));
                self.metrics.plugin_removed(entry.name());
            }
            stays
        });
        for (name, problem) in &set.broken {
            self.break_off(&mut entries, name, problem);
        }
        // New plugins are listed before the first of them is loaded, which can take minutes.
        for source in &set.sources {
            let name = &source.options.name;
            if !entries.iter().any(|entry| entry.name() == name) {
                entries.push(Entry::new(source.clone(), false));
            }
        }
        self.publish(&entries);
        for source in set.sources {
            let mut known = entries.iter_mut();
            match known.find(|entry| entry.name() == source.options.name) {
                Some(entry) if entry.embedded => {
                    tracing::error!(
                        plugin = entry.name(),
                        "the name is that of an embedded plugin"
                    );
                }
                Some(entry) => self.update(entry, source).await,
                None => {}
            }
            self.publish(&entries);
        }
        self.follow_with(&mut entries).await;
    }

    /// Lists a plugin as failed because its configuration is not valid. Its former version goes: the host cannot tell whether
    /// the grants of that version still hold.
    fn break_off(&self, entries: &mut Vec<Entry>, name: &str, problem: &str) {
        if !entries.iter().any(|entry| entry.name() == name) {
            let nothing = PluginSource::bytes(Vec::new(), Options::new(name));
            entries.push(Entry::new(nothing, false));
        }
        let Some(entry) = entries.iter_mut().find(|entry| entry.name() == name) else {
            return;
        };
        if entry.error.as_deref() != Some(problem) {
            tracing::error!(plugin = name, problem, "the plugin cannot be loaded");
            self.audit
                .record("plugin_failed", json!({ "plugin": name, "error": problem }));
        }
        // The next valid configuration loads the plugin again.
        entry.tried = None;
        entry.plugin = None;
        entry.error = Some(problem.to_owned());
    }

    /// Makes a change. Turning off takes effect at once, also while another plugin is loaded. The change completes even if the
    /// caller drops the future.
    pub(super) async fn change(
        self: &Arc<Self>,
        name: &str,
        change: PluginChange,
        actor: &Actor,
    ) -> Result<PluginInfo, PluginError> {
        if change == PluginChange::Disable
            && let Some(plugin) = self.table().plugin(name)
        {
            plugin.on.store(false, Ordering::Relaxed);
        }
        let (plugins, name, actor) = (Arc::clone(self), name.to_owned(), actor.clone());
        let changed = tokio::spawn(async move { plugins.changed(name, change, &actor).await });
        let failed = |error: JoinError| Err(PluginError::Host(error.to_string()));
        changed.await.unwrap_or_else(failed)
    }

    async fn changed(
        &self,
        name: String,
        change: PluginChange,
        actor: &Actor,
    ) -> Result<PluginInfo, PluginError> {
        let mut entries = self.entries.lock().await;
        let Some(entry) = entries.iter_mut().find(|entry| entry.name() == name) else {
            let known = entries.iter().map(|entry| entry.name().into()).collect();
            return Err(PluginError::Unknown { name, known });
        };
        if change == PluginChange::Reload {
            let fields = json!({ "principal": actor.name(), "plugin": name });
            self.audit.record("plugin_reloaded", fields);
        } else {
            self.switch(entry, change == PluginChange::Enable, actor.name());
        }
        let needs_load = match change {
            PluginChange::Enable => entry.plugin.is_none(),
            PluginChange::Disable => false,
            PluginChange::Reload => true,
        };
        let loaded = match needs_load {
            true => self.load(entry, true).await,
            false => Ok(()),
        };
        let unlisted = entry.info();
        self.publish(&entries);
        if change != PluginChange::Reload
            && let Some(entry) = entries.iter().find(|entry| entry.name() == name)
        {
            self.tell_switch(entry, actor).await?;
        }
        match loaded {
            Ok(()) => Ok(self
                .table()
                .plugin(&name)
                .map_or(unlisted, |plugin| plugin.info.clone())),
            Err(source) => Err(PluginError::Load { name, source }),
        }
    }

    /// Applies the configuration of a plugin that is already listed.
    async fn update(&self, entry: &mut Entry, source: PluginSource) {
        // An administrator's choice to turn the plugin on or off stands until `enabled` changes in the configuration.
        if source.enabled != entry.source.enabled {
            self.switch(entry, source.enabled, CONFIGURATION);
        }
        let changed = source.options != entry.source.options;
        if changed {
            let changes = changes(&entry.source.options, &source.options);
            tracing::info!(plugin = entry.name(), %changes, "the configuration of the plugin has changed");
            let fields = json!({ "plugin": entry.name(), "changes": changes });
            self.audit.record("plugin_changed", fields);
        }
        entry.source = source;
        self.refresh(entry, changed).await;
    }

    /// Turns a plugin on or off, as far as that needs no loading.
    fn switch(&self, entry: &mut Entry, enabled: bool, principal: &str) {
        entry.on.store(enabled, Ordering::Relaxed);
        if entry.enabled == enabled {
            return;
        }
        entry.enabled = enabled;
        let event = if enabled {
            "plugin_enabled"
        } else {
            entry.plugin = None;
            "plugin_disabled"
        };
        let fields = json!({ "principal": principal, "plugin": entry.name() });
        self.audit.record(event, fields);
    }

    /// Loads a plugin if it is enabled. `changed`: its options have changed.
    async fn refresh(&self, entry: &mut Entry, changed: bool) {
        if entry.enabled {
            // `load` logs the error and keeps it in the entry.
            _ = self.load(entry, changed).await;
        }
    }

    /// Loads a plugin from the present content of its component. Does nothing if the host has already tried this content,
    /// unless `anew` is set. If the load fails, the former version stays, unless its options have changed.
    async fn load(&self, entry: &mut Entry, anew: bool) -> Result<(), LoadError> {
        let content = entry.source.read().await;
        let mark = source::mark(&content);
        if !anew && entry.was_tried_with(&mark) {
            return Ok(());
        }
        let loaded = self.loaded(&entry.source.options, content).await;
        entry.tried = Some(mark);
        let error = match loaded {
            Ok((plugin, granted)) => {
                entry.take(plugin, granted);
                return Ok(());
            }
            Err(error) => error,
        };
        let text = error.to_string();
        entry.failed(text.clone());
        match error {
            LoadError::TooLarge { .. } => self.metrics.limit(entry.name(), LimitKind::Component),
            LoadError::CompileTime { .. } => {
                self.metrics.limit(entry.name(), LimitKind::CompileTime);
            }
            _ => {}
        }
        let outlook = match entry.plugin {
            Some(_) => "; its former version stays",
            None => "",
        };
        tracing::error!(
            plugin = entry.name(),
            error = text,
            "the plugin cannot be loaded{outlook}"
        );
        let fields = json!({ "plugin": entry.name(), "error": text });
        self.audit.record("plugin_failed", fields);
        Err(error)
    }

    /// Returns a plugin with these options, and the part of the workspace that it was granted.
    async fn loaded(
        &self,
        options: &Options,
        content: source::Content,
    ) -> Result<(Arc<Plugin>, Granted), LoadError> {
        let roots = options.grants.file_roots();
        let of_default = match &roots {
            Some(roots) => {
                let restricted = self.workspace.restricted(roots).await;
                restricted.map_err(|error| LoadError::FileRoots(error.to_string()))?
            }
            None => Arc::clone(&self.workspace),
        };
        let (component, library) = content?;
        let options = source::with_library(options, library);
        let plugin = Plugin::load_shared(&self.engine, component, options.clone()).await?;
        self.audit.record("plugin", plugin.header(&options));
        for tool in plugin.tools() {
            for (formats, reason) in Format::misfits(tool) {
                let formats: Vec<_> = formats.into_iter().map(Format::name).collect();
                let (plugin, tool, formats) = (plugin.name(), &tool.name, formats.join(", "));
                tracing::warn!(
                    plugin,
                    tool,
                    formats,
                    "the tool is not offered in these formats: {reason}"
                );
            }
        }
        let roots = roots.map(Arc::from);
        Ok((plugin, Granted { of_default, roots }))
    }

    /// Replaces the table that callers see by one of these plugins.
    fn publish(&self, entries: &[Entry]) {
        let table = Arc::new(Table::new(entries, self.workspace.shell()));
        let former = {
            let mut current = self.table.write();
            std::mem::replace(&mut *current, Arc::clone(&table))
        };
        for plugin in &table.plugins {
            let state = match plugin.now().state {
                PluginState::Active => metrics::PluginState::Loaded,
                PluginState::Quarantined => metrics::PluginState::Quarantined,
                PluginState::Disabled => metrics::PluginState::Disabled,
                PluginState::Loading => metrics::PluginState::Loading,
                PluginState::Failed => metrics::PluginState::Failed,
            };
            self.metrics.plugin_state(&plugin.info.name, state);
        }
        if former.tools != table.tools {
            self.changes.send_modify(|count| *count += 1);
        }
    }
}
