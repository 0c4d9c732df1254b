//! The embedded plugins that a host has only on request: that of scripts, and that which finds tools.

use super::Config;
use toolhost_core::{FIND_TOOLS, Grants, Options, PluginSource, SCRIPT, find_tools};
use toolhost_plugin::Limits;

/// All of them.
const ALL: [&str; 2] = [SCRIPT, FIND_TOOLS];

/// Returns the grants of one of these plugins. Without a grant, it may call every tool.
pub(super) fn grants(configured: &Grants) -> Grants {
    match configured.calls() {
        true => configured.clone(),
        false => Grants::default().with_calls(["*"]),
    }
}

/// Returns the plugin that finds tools. With a grant, it finds only the tools that the grant names.
pub(super) fn finder(configured: &Grants, limits: &Limits) -> PluginSource {
    find_tools(Options {
        grants: grants(configured),
        limits: limits.clone(),
        ..Options::new(FIND_TOOLS)
    })
}

impl Config {
    /// Adds one of these plugins, as the file has it.
    #[must_use]
    pub fn with_optional(mut self, plugin: &'static str) -> Self {
        self.optional.insert(plugin);
        self
    }

    /// Adds those of these plugins that the file is about: that have a section, or a mode in which clients are offered their tools.
    #[must_use]
    pub fn with_named_optional(self) -> Self {
        let mode = self
            .settings
            .get("tool_mode")
            .and_then(|mode| mode.as_str());
        let of_mode = match mode {
            Some("script" | "both") => Some(SCRIPT),
            Some("search") => Some(FIND_TOOLS),
            _ => None,
        };
        let mut named = ALL.to_vec();
        named.retain(|name| self.plugins.contains_key(*name) || of_mode == Some(*name));
        named.into_iter().fold(self, Self::with_optional)
    }

    /// Returns whether one of these plugins is to be loaded.
    pub(super) fn has_optional(&self, plugin: &str) -> bool {
        self.optional.contains(plugin)
    }
}
