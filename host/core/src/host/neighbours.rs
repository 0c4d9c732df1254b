//! The other hosts of a store: their cancellations reach the calls of this one, and their calls are taken over when they end.

use std::sync::{Arc, Weak};

use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use toolhost_call::metrics::PluginState;
use toolhost_store::{News, Quarantine, StoreError};

use super::{Inner, interrupted, readers};

/// Does what the other hosts of the store ask for, until this host is dropped.
pub(super) async fn listen(host: Weak<Inner>, mut news: UnboundedReceiver<News>) {
    while let Some(news) = news.recv().await {
        let Some(inner) = host.upgrade() else {
            return;
        };
        match news {
            News::Cancelled { chat, call } => inner.ledger.cancelled_elsewhere(&chat, &call),
            // Agents may take their time, and cancellations must not wait for them.
            News::Interrupted => _ = tokio::spawn(take_over(inner)),
            News::Workspace(name) => told(inner.workspaces.learn(&name).await),
            News::Bound(chat) => {
                told(inner.workspaces.learn_chat(&chat).await);
                inner.readers.bound(&inner.workspaces, &chat).await;
            }
            News::Quarantined(quarantine) => quarantine_here(&inner, &quarantine),
            News::Switched => follow(&inner),
            News::Event { chat, event } => inner.events.publish(&chat, readers::told(event)),
            News::Reachable => {
                inner.workspaces.forget_settled();
                inner.reconnected.notify_one();
                inner.readers.listen();
                inner.ledger.catch_up().await;
                follow(&inner);
                told(inner.workspaces.learn_all().await);
            }
        }
    }
}

/// Takes over the calls of hosts that are lost.
async fn take_over(inner: Arc<Inner>) {
    match inner.ledger.take_over().await {
        Ok(calls) => {
            let workspace = &*inner.workspace;
            interrupted::settle(&inner.ledger, calls, workspace, &inner.workspaces).await;
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the calls of another host cannot be taken over now");
        }
    }
}

/// Turns plugins on and off as other hosts did. A plugin may have to be compiled, and nothing else waits for that.
fn follow(inner: &Arc<Inner>) {
    let plugins = Arc::clone(&inner.plugins);
    tokio::spawn(async move { plugins.follow().await });
}

/// Quarantines a plugin as another host did.
fn quarantine_here(inner: &Inner, quarantine: &Quarantine) {
    if !inner.plugins.quarantine(quarantine) {
        return;
    }
    let (plugin, seconds) = (&quarantine.plugin, quarantine.lasts.as_secs());
    tracing::error!(
        plugin,
        seconds,
        "the plugin is quarantined, because it trapped too often in a row at another host"
    );
    let fields = json!({ "plugin": plugin, "seconds": seconds });
    inner.audit.record("plugin_quarantined", fields);
    inner.metrics.plugin_state(plugin, PluginState::Quarantined);
}

/// Logs that a change of another host is not known here. It is looked up again when a call needs it.
fn told<T>(learnt: Result<T, StoreError>) {
    if let Err(error) = learnt {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "what another host did to a workspace cannot be looked up"
        );
    }
}
