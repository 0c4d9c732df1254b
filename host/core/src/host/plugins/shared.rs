//! Decisions about plugins that the hosts of one store make together: which are on, and which are quarantined.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use toolhost_call::call::Actor;
use toolhost_plugin::Plugin;
use toolhost_store::{Quarantine, Switch};

use super::{Entry, PluginError, Plugins};

impl Plugins {
    /// Stores that an administrator turned a plugin on or off, for the other hosts.
    pub(super) async fn tell_switch(
        &self,
        entry: &Entry,
        actor: &Actor,
    ) -> Result<(), PluginError> {
        let switch = Switch {
            plugin: entry.name().to_owned(),
            configured: entry.source.enabled,
            enabled: entry.enabled,
            principal: actor.name().to_owned(),
        };
        let name = switch.plugin.clone();
        let told = self.store.put_switch(switch).await;
        told.map_err(|source| PluginError::Untold { name, source })
    }

    /// Turns plugins on and off as administrators did at other hosts.
    pub(in crate::host) async fn follow(&self) {
        let mut entries = self.entries.lock().await;
        self.follow_with(&mut entries).await;
    }

    /// Does the same with the plugins that the caller has locked.
    pub(super) async fn follow_with(&self, entries: &mut [Entry]) {
        let switches = match self.store.switches().await {
            Ok(switches) => switches,
            Err(error) => {
                let error = &error as &dyn Error;
                tracing::warn!(
                    error,
                    "which plugins other hosts turned off cannot be looked up"
                );
                return;
            }
        };
        let mut is_changed = false;
        for entry in entries.iter_mut() {
            let concerns = |switch: &&Switch| {
                switch.plugin == entry.name() && switch.configured == entry.source.enabled
            };
            let Some(switch) = switches.iter().find(concerns) else {
                continue;
            };
            if switch.enabled != entry.enabled {
                self.switch(entry, switch.enabled, &switch.principal);
                self.refresh(entry, false).await;
                is_changed = true;
            }
        }
        if is_changed {
            self.publish(entries);
        }
    }

    /// Tells the other hosts that a plugin was quarantined here. Does not wait for them.
    pub(in crate::host) fn tell_quarantine(&self, plugin: &Plugin, lasts: Duration) {
        if !self.store.is_shared() {
            return;
        }
        let quarantine = Quarantine {
            plugin: plugin.name().to_owned(),
            sha256: plugin.digest().to_string(),
            lasts,
        };
        let store = Arc::clone(&self.store);
        tokio::spawn(async move {
            if let Err(error) = store.tell_quarantine(quarantine).await {
                let error = &error as &dyn Error;
                tracing::debug!(error, "the other hosts cannot be told of a quarantine");
            }
        });
    }

    /// Quarantines a plugin because another host has, if this host has the same version of it. Returns whether it did.
    pub(in crate::host) fn quarantine(&self, quarantine: &Quarantine) -> bool {
        self.table()
            .plugin(&quarantine.plugin)
            .filter(|plugin| plugin.info.sha256.as_ref() == Some(&quarantine.sha256))
            .is_some_and(|plugin| plugin.health.quarantine(quarantine.lasts))
    }
}
