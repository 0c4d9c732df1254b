//! Telling the store which agents are connected to this host, so that other hosts find them.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};
use toolhost_remote::Dialled;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{Store, StoreError};

use super::Inner;

/// How often the store is told of all agents. It then knows them even if a change was lost.
const SYNC_EVERY: Duration = Duration::from_secs(60);

/// Tells the store of each agent that connects or whose connection ends, until this host is dropped, and of all agents when `again` is
/// notified. One task does it, so that the store gets the changes in their order.
pub(super) async fn report(
    host: Weak<Inner>,
    mut changes: UnboundedReceiver<WorkspaceName>,
    again: Arc<Notify>,
) {
    let mut ticks = interval(SYNC_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut untold = HashSet::new();
    loop {
        let changed = tokio::select! {
            changed = changes.recv() => match changed {
                Some(changed) => Some(changed),
                None => return,
            },
            () = again.notified() => None,
            _ = ticks.tick() => None,
        };
        let Some(inner) = host.upgrade() else {
            return;
        };
        let Some(agents) = &inner.agents else {
            return;
        };
        let (store, dialled) = (inner.ledger.store(), agents.dialled());
        let is_change = changed.is_some();
        untold.extend(changed);
        let mut told = tell(store, dialled, &mut untold).await;
        if !is_change && told.is_ok() {
            told = store.sync_agents(dialled.names()).await;
        }
        if let Err(error) = told {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "the other hosts do not know yet which agents are connected to this one"
            );
        }
    }
}

/// Tells the store of these agents, and removes those that it was told of.
async fn tell(
    store: &dyn Store,
    dialled: &Dialled,
    untold: &mut HashSet<WorkspaceName>,
) -> Result<(), StoreError> {
    while let Some(agent) = untold.iter().next().cloned() {
        match dialled.has(&agent) {
            true => store.put_agent(agent.clone()).await?,
            false => store.remove_agent(agent.clone()).await?,
        }
        untold.remove(&agent);
    }
    Ok(())
}
