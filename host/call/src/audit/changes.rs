//! Changes of a host: of its plugins, its tokens and its configuration.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Audit, line};

/// The facts of a plugin that its load is recorded with. It has no values of settings and secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub plugin: String,
    /// The SHA-256 digest of its component, in lower-case hex.
    pub sha256: String,
    /// The size of its component in bytes.
    pub size: usize,
    /// The full names of its imports.
    pub imports: Vec<String>,
    /// The grants of the plugin.
    pub grants: Value,
    /// Its limits that are not the defaults, by name.
    pub limits: Value,
    /// The names of its settings.
    pub settings: Vec<String>,
    /// The names of its secrets.
    pub secrets: Vec<String>,
}

impl Audit {
    /// Records that a plugin was loaded.
    pub fn plugin(&self, header: &Header) {
        let fields = json!({
            "plugin": line::text(&header.plugin),
            "sha256": header.sha256,
            "size": header.size,
            "imports": line::list(header.imports.iter()),
            "grants": header.grants,
            "limits": header.limits,
            "settings": line::list(header.settings.iter()),
            "secrets": line::list(header.secrets.iter()),
        });
        self.record("plugin", fields);
    }

    /// Records that a plugin did not load, and why.
    pub fn plugin_failed(&self, name: &str, error: &str) {
        let fields = json!({ "plugin": line::text(name), "error": line::text(error) });
        self.record("plugin_failed", fields);
    }

    /// Records that the configuration of a plugin has changed: the keys of `changes` name the settings that differ.
    pub fn plugin_changed(&self, name: &str, changes: &Value) {
        let fields = json!({ "plugin": line::text(name), "changes": changes });
        self.record("plugin_changed", fields);
    }

    /// Records that the configuration no longer names a plugin.
    pub fn plugin_removed(&self, name: &str) {
        self.record("plugin_removed", json!({ "plugin": line::text(name) }));
    }

    /// Records that a plugin was switched on, and the principal that did it.
    pub fn plugin_enabled(&self, name: &str, principal: &str) {
        self.plugin_switched("plugin_enabled", name, principal);
    }

    /// Records that a plugin was switched off, and the principal that did it.
    pub fn plugin_disabled(&self, name: &str, principal: &str) {
        self.plugin_switched("plugin_disabled", name, principal);
    }

    /// Records that a principal had a plugin loaded again.
    pub fn plugin_reloaded(&self, name: &str, principal: &str) {
        self.plugin_switched("plugin_reloaded", name, principal);
    }

    fn plugin_switched(&self, event: &'static str, name: &str, principal: &str) {
        let fields = json!({ "principal": line::text(principal), "plugin": line::text(name) });
        self.record(event, fields);
    }

    /// Records that a plugin, which trapped too often, is left alone for a while.
    pub fn plugin_quarantined(&self, name: &str, time: Duration) {
        let fields = json!({ "plugin": line::text(name), "seconds": time.as_secs() });
        self.record("plugin_quarantined", fields);
    }

    /// Records which tokens were added, removed and changed, with their rights.
    pub fn tokens_changed(&self, changes: &Value) {
        self.record("tokens_changed", changes.clone());
    }

    /// Records that a configuration was changed in keys that take effect at the next start.
    pub fn settings_changed(&self, file: &Path, keys: &[String]) {
        let file = line::text(&file.to_string_lossy());
        let fields = json!({ "file": file, "settings": line::list(keys.iter()) });
        self.record("settings_changed", fields);
    }

    /// Records that a changed configuration, or a file that it names, cannot be used, so that nothing was changed.
    pub fn configuration_refused(&self, error: &str) {
        self.record(
            "configuration_refused",
            json!({ "error": line::text(error) }),
        );
    }
}
