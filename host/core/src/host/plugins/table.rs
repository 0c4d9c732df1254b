//! The table of tools: an immutable snapshot of the plugins, replaced as a whole when one of them changes.
//!
//! A call looks its tool up in the snapshot at its arrival, and keeps the plugin that it finds there. A version that is
//! loaded meanwhile serves the next call.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::entry::{Entry, PluginInfo, PluginState};
use super::granted::Granted;
use super::tally::Tally;
use crate::host::health::Health;
use toolhost_call::tool::Definition;
use toolhost_plugin::Plugin;
use toolhost_workspace::process::Shell;

/// The place of the shell in a description.
const PLACEHOLDER: &str = "{{shell}}";

/// The tools as callers see them, and the route of each.
#[derive(Debug, Default)]
pub(in crate::host) struct Table {
    pub(in crate::host) tools: Arc<[Definition]>,
    pub(in crate::host) plugins: Vec<Listed>,
    routes: HashMap<String, Arc<Route>>,
}

/// The plugin that runs a tool, and the parts of the host that the call needs.
#[derive(Debug)]
pub(in crate::host) struct Route {
    pub(in crate::host) plugin: Arc<Plugin>,
    /// The part of a workspace that the plugin was granted.
    pub(in crate::host) granted: Granted,
    pub(in crate::host) health: Arc<Health>,
    /// Whether the plugin is on. It may be turned off before there is a new table.
    pub(in crate::host) on: Arc<AtomicBool>,
    /// Where its calls are counted.
    pub(in crate::host) tally: Arc<Tally>,
    /// The name that the plugin gave the tool.
    pub(in crate::host) tool: String,
    /// Whether the tool promises to change nothing.
    pub(in crate::host) read_only: bool,
}

/// A plugin in a list. Its health changes without a new table.
#[derive(Debug)]
pub(in crate::host) struct Listed {
    pub(in crate::host) info: PluginInfo,
    pub(in crate::host) health: Arc<Health>,
    pub(in crate::host) on: Arc<AtomicBool>,
    tally: Arc<Tally>,
}

impl Listed {
    /// Returns the entry with the plugin's present state.
    pub(in crate::host) fn now(&self) -> PluginInfo {
        let mut info = self.info.clone();
        (info.calls, info.traps, info.latency) = self.tally.sums();
        if !self.on.load(Ordering::Relaxed) {
            info.state = PluginState::Disabled;
            info.tools.clear();
        } else if info.state == PluginState::Active
            && let Some(left) = self.health.quarantined()
        {
            info.state = PluginState::Quarantined;
            info.quarantined_ms = Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        }
        info
    }
}

impl Table {
    /// Gives every tool a name of its own: where two plugins offer one name, both become `plugin__tool`. In the description of a tool
    /// that may run commands, `{{shell}}` becomes the shell of the default workspace.
    pub(in crate::host) fn new(entries: &[Entry], shell: Shell) -> Self {
        let all = || {
            entries.iter().flat_map(|entry| {
                let plugin = entry.active();
                plugin.into_iter().flat_map(move |(plugin, granted)| {
                    let tools = plugin.tools().iter();
                    tools.map(move |tool| (entry, plugin, granted, tool))
                })
            })
        };
        let mut counts = HashMap::<&str, usize>::new();
        all().for_each(|(.., tool)| *counts.entry(&tool.name).or_default() += 1);
        let (mut tools, mut routes) = (Vec::new(), HashMap::new());
        let mut names = HashMap::<&str, Vec<String>>::new();
        for (entry, plugin, granted, tool) in all() {
            let name = match counts.get(tool.name.as_str()) {
                Some(1) => tool.name.clone(),
                _ => format!("{}__{}", plugin.name(), tool.name),
            };
            let route = Route {
                plugin: Arc::clone(plugin),
                granted: granted.clone(),
                health: Arc::clone(&entry.health),
                on: Arc::clone(&entry.on),
                tally: Arc::clone(&entry.tally),
                tool: tool.name.clone(),
                read_only: tool.hints.read_only,
            };
            routes.insert(name.clone(), Arc::new(route));
            names.entry(plugin.name()).or_default().push(name.clone());
            let mut tool = Definition {
                name,
                ..tool.clone()
            };
            if plugin.grants().processes() {
                tool.description = tool.description.replace(PLACEHOLDER, described(shell));
            }
            tools.push(tool);
        }
        let listed = entries.iter().map(|entry| Listed {
            info: PluginInfo {
                tools: names.remove(entry.name()).unwrap_or_default(),
                ..entry.info()
            },
            health: Arc::clone(&entry.health),
            on: Arc::clone(&entry.on),
            tally: Arc::clone(&entry.tally),
        });
        Self {
            tools: tools.into(),
            plugins: listed.collect(),
            routes,
        }
    }

    /// Returns the plugin of each tool.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.routes.values().map(|route| &route.plugin)
    }

    pub(super) fn plugin(&self, name: &str) -> Option<&Listed> {
        let mut plugins = self.plugins.iter();
        plugins.find(|plugin| plugin.info.name == name)
    }

    pub(in crate::host) fn route(&self, tool: &str) -> Option<&Arc<Route>> {
        let route = self.routes.get(tool);
        route.filter(|route| route.on.load(Ordering::Relaxed))
    }

    /// Returns whether this is the health of a version in use, rather than of a version that was replaced.
    pub(in crate::host) fn has(&self, health: &Arc<Health>) -> bool {
        let mut plugins = self.plugins.iter();
        plugins.any(|plugin| Arc::ptr_eq(&plugin.health, health))
    }
}

/// Returns the shell as descriptions name it.
fn described(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "bash",
        Shell::Sh => "sh (POSIX)",
    }
}
