//! One plugin as the host knows it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use utoipa::ToSchema;

use super::granted::Granted;
use super::source::{Component, Embedded, Mark, PluginSource};
use super::tally::{Latency, Tally};
use crate::host::health::Health;
use toolhost_plugin::{Options, Plugin};

/// A plugin that is loaded, or should be.
#[derive(Debug)]
pub(in crate::host) struct Entry {
    pub(super) source: PluginSource,
    /// The source before any override of the configuration.
    given: PluginSource,
    /// Whether it is part of the host, rather than of its configuration.
    pub(super) embedded: bool,
    /// Whether the plugin is on: as the configuration says, unless an administrator has changed it since.
    pub(super) enabled: bool,
    /// A copy of `enabled` for calls, which read it without waiting for a load under way.
    pub(in crate::host) on: Arc<AtomicBool>,
    /// The version in use, and the part of the workspace that it was granted.
    pub(super) plugin: Option<(Arc<Plugin>, Granted)>,
    /// The options that this version was loaded with.
    used: Option<Options>,
    /// The mark of the content that the host last tried to load.
    pub(super) tried: Option<Mark>,
    /// The reason why that content did not load.
    pub(super) error: Option<String>,
    pub(in crate::host) health: Arc<Health>,
    /// The calls of all versions.
    pub(super) tally: Arc<Tally>,
}

/// The state of a plugin. `active`: its tools are offered. `quarantined`: its tools are listed, but calls are refused for a
/// while, because it trapped too often. `disabled`: it is turned off. `loading`: it is being loaded for the first time, or waits for
/// that. `failed`: it does not load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PluginState {
    /// Its tools are offered.
    Active,
    /// Its tools are listed, but calls do not reach the plugin for a while, because it trapped too often.
    Quarantined,
    /// It is turned off.
    Disabled,
    /// It is being loaded for the first time, or waits until others are loaded.
    Loading,
    /// It does not load.
    Failed,
}

/// A plugin, and its state.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Plugin)]
pub struct PluginInfo {
    /// The name of the plugin.
    pub name: String,
    /// The state of the plugin.
    pub state: PluginState,
    /// Whether its component is part of the program.
    pub embedded: bool,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// The file of its component, if it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub component: Option<PathBuf>,
    /// The SHA-256 of the component in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sha256: Option<String>,
    /// The version that the component in use says it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub version: Option<String>,
    /// The imports of the component in use.
    pub imports: Vec<String>,
    /// What the plugin may do, in words, such as `reads the files of the workspace`.
    pub grants: Vec<String>,
    /// The limits of the plugin, by their names in the audit trail: bytes, numbers, and times in milliseconds.
    pub limits: BTreeMap<String, u64>,
    /// How many calls have ended since the server was started.
    pub calls: u64,
    /// How many of them trapped.
    pub traps: u64,
    /// How long they took; absent before the first call has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub latency: Option<Latency>,
    /// The reason why the plugin does not load, or why its newest version does not while an older one is in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// The rest of its quarantine in milliseconds, if it is quarantined.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub quarantined_ms: Option<u64>,
}

impl Entry {
    pub(super) fn new(source: PluginSource, embedded: bool) -> Self {
        Self {
            embedded,
            enabled: source.enabled,
            on: Arc::new(AtomicBool::new(source.enabled)),
            plugin: None,
            used: None,
            tried: None,
            error: None,
            health: Health::new(source.options.limits.traps),
            tally: Arc::default(),
            given: source.clone(),
            source,
        }
    }

    pub(in crate::host) fn name(&self) -> &str {
        &self.source.options.name
    }

    /// Returns the version whose tools are offered.
    pub(in crate::host) fn active(&self) -> Option<&(Arc<Plugin>, Granted)> {
        self.plugin.as_ref().filter(|_| self.enabled)
    }

    /// Returns whether the host last tried to load the content of this mark, so that another attempt would change nothing.
    pub(super) fn was_tried_with(&self, mark: &Mark) -> bool {
        self.tried.as_ref() == Some(mark) && (self.plugin.is_some() || self.error.is_some())
    }

    /// Puts a new version into use.
    pub(super) fn take(&mut self, plugin: Arc<Plugin>, granted: Granted) {
        self.plugin = Some((plugin, granted));
        self.used = Some(self.source.options.clone());
        self.error = None;
        // The traps of the former version say nothing about this one.
        self.health = Health::new(self.source.options.limits.traps);
    }

    /// Records why the plugin does not load. The former version stays only if it was loaded with the present options. So it
    /// goes if its grants or limits were taken back, or if its digest is no longer the pinned one.
    pub(super) fn failed(&mut self, error: String) {
        if self.used.as_ref() != Some(&self.source.options) {
            self.plugin = None;
        }
        self.error = Some(error);
    }

    /// Returns the source of the plugin with the overrides of a configuration.
    pub(super) fn overridden(&self, by: Option<&Embedded>) -> PluginSource {
        let mut source = self.given.clone();
        if let Some(by) = by {
            source.enabled = by.enabled;
            source.options.limits = by.limits.clone().unwrap_or(source.options.limits);
            source.options.settings.settings.extend(by.settings.clone());
        }
        source
    }

    /// Returns the entry of the plugin in a list, without its tools, whose names depend on the other plugins.
    pub(in crate::host) fn info(&self) -> PluginInfo {
        let state = match (self.enabled, &self.plugin) {
            (false, _) => PluginState::Disabled,
            (true, Some(_)) => PluginState::Active,
            (true, None) if self.error.is_none() => PluginState::Loading,
            (true, None) => PluginState::Failed,
        };
        let used = self.plugin.as_ref().map(|(plugin, _)| plugin);
        let options = &self.source.options;
        PluginInfo {
            name: self.name().to_owned(),
            state,
            embedded: self.embedded || self.source.is_script(),
            tools: Vec::new(),
            sha256: used.map(|plugin| plugin.digest().to_string()),
            version: used.and_then(|plugin| plugin.version().map(str::to_owned)),
            imports: used.map_or_else(Vec::new, |plugin| plugin.imports().to_vec()),
            grants: options.grants.in_words(),
            limits: options.limits.by_name(),
            calls: 0,
            traps: 0,
            latency: None,
            component: match &self.source.component {
                Component::Bytes(_) => None,
                Component::File(path) => Some(path.clone()),
            },
            error: self.error.clone().filter(|_| self.enabled),
            quarantined_ms: None,
        }
    }
}
