//! Periodic work: closing, storing, stopping and removing workspaces that are idle.

use std::sync::{Arc, Weak};
use std::time::Duration;

use toolhost_call::call::Actor;
use toolhost_workspace::{Phase, Provider};

use super::entry::Entry;
use super::{Removal, Workspaces};
use crate::host::{Host, Inner};
use toolhost_state::unix_time;

/// How often workspaces are looked through.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// After how long without a call a workspace is closed. The next call opens it again.
const CLOSE_AFTER: Duration = Duration::from_secs(5 * 60);

/// How long an engine may take to say how a machine is.
const LOOK_WITHIN: Duration = Duration::from_secs(10);

/// For how long after its last call a workspace whose agent cannot be reached is tried again.
const TRY_FOR: Duration = Duration::from_secs(60 * 60);

/// How long the chats of a removed workspace are remembered.
const REMEMBER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Runs the upkeep from time to time, for as long as the host exists.
pub(in crate::host) async fn keep_up(host: Weak<Inner>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = host.upgrade() else {
            return;
        };
        let host = Host { inner };
        if host.inner.stopping.is_cancelled() {
            return;
        }
        host.tidy_up_workspaces(CLOSE_AFTER).await;
    }
}

impl Host {
    /// Runs the upkeep of workspaces now: closes those that no call has used for this long, stores when they were last used, and stops
    /// and removes those whose specification or template asks for it.
    pub async fn tidy_up_workspaces(&self, close_after: Duration) {
        let workspaces = &self.inner.workspaces;
        let entries: Vec<Arc<Entry>> = workspaces.table.lock().entries.values().cloned().collect();
        if entries.is_empty() {
            return;
        }
        let live = self.live_by_workspace().await;
        self.inner.readers.open_workspaces(workspaces).await;
        for entry in entries {
            if let Some(removed) = entry.removed_ms() {
                let age = Duration::from_millis(unix_time::now_ms().saturating_sub(removed));
                if age > REMEMBER {
                    workspaces.forget(&entry).await;
                }
                continue;
            }
            // Without an answer of the workspace, nothing is removed.
            let runs = live
                .as_ref()
                .is_none_or(|live| live.contains_key(&entry.name));
            if runs {
                entry.use_now();
            }
            if entry.is_elsewhere() && entry.has_problem() && entry.idle_for() < TRY_FOR {
                workspaces.open_soon(&entry);
            }
            entry.close_if_idle(close_after);
            let spec = entry.spec();
            let provider = workspaces.providers.of(&spec).ok();
            if let Some(provider) = provider.filter(|_| entry.is_elsewhere()) {
                if !provider.is_usable(&entry.name, &spec) {
                    entry.drop_open();
                }
                // An engine that hangs must not hold up the others.
                let looking = provider.look(&entry.name, &spec);
                _ = tokio::time::timeout(LOOK_WITHIN, looking).await;
                self.stop_if_idle(&entry, &**provider);
            }
            let idle = match provider {
                Some(provider) => provider.idleness(&spec).removed_after,
                None => spec.idle(),
            };
            if let Some(idle) = idle.filter(|idle| entry.idle_for() >= *idle) {
                let (removal, actor) = (Removal::Idle(idle), Actor::default());
                let removed = self.remove_workspace(&entry.name, removal, &actor);
                if let Err(error) = removed.await {
                    tracing::warn!(workspace = %entry.name, %error, "an idle workspace was not removed");
                }
            } else if entry.takes_use()
                && let Err(error) = workspaces.store.put_workspace(entry.stored()).await
            {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(workspace = %entry.name, error, "the last use of a workspace cannot be stored");
            }
        }
    }
}

impl Host {
    /// Stops the machine of a workspace if it is idle, and does not wait for it.
    fn stop_if_idle(&self, entry: &Arc<Entry>, provider: &dyn Provider) {
        let idle = provider.idleness(&entry.spec()).stopped_after;
        let is_up = provider.phase(&entry.name).is_some_and(Phase::is_up);
        if let Some(idle) = idle.filter(|idle| is_up && entry.idle_for() >= *idle) {
            let (host, name) = (self.clone(), entry.name.clone());
            tokio::spawn(async move {
                let (removal, actor) = (Removal::Idle(idle), Actor::default());
                if let Err(error) = host.stop_workspace(&name, removal, &actor).await {
                    tracing::warn!(workspace = %name, %error, "an idle workspace was not stopped");
                }
            });
        }
    }
}

impl Workspaces {
    /// Forgets a workspace that was removed, and its chats.
    async fn forget(&self, entry: &Arc<Entry>) {
        let _turn = self.turns.take(&entry.name).await;
        if !entry.is_removed()
            || self
                .store
                .remove_workspace(entry.name.clone())
                .await
                .is_err()
        {
            return;
        }
        let mut table = self.table.lock();
        table.chats.retain(|_, of| !Arc::ptr_eq(of, entry));
        table.elsewhere.remove(&entry.name);
        table.entries.remove(&entry.name);
    }
}
