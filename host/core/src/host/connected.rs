//! Telling the store which agents are connected to this host, and finding those that are connected to other hosts.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};
use toolhost_link::{AGENTS, Address, Dialled, Passage, Passages, TlsFiles};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{AgentElsewhere, ConnectedAgent, Store, StoreError};

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
            told = store.sync_agents(all(dialled)).await;
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

fn all(dialled: &Dialled) -> Vec<ConnectedAgent> {
    let all = dialled.all().into_iter();
    all.map(|(name, token)| ConnectedAgent { name, token })
        .collect()
}

/// Tells the store of these agents, and removes those that it was told of.
async fn tell(
    store: &dyn Store,
    dialled: &Dialled,
    untold: &mut HashSet<WorkspaceName>,
) -> Result<(), StoreError> {
    while let Some(agent) = untold.iter().next().cloned() {
        match dialled.token(&agent) {
            Some(token) => {
                let name = agent.clone();
                store.put_agent(ConnectedAgent { name, token }).await?;
            }
            None => store.remove_agent(agent.clone()).await?,
        }
        untold.remove(&agent);
    }
    Ok(())
}

/// The ways to agents of other hosts, as the store knows them.
#[derive(Debug)]
pub(super) struct OfStore {
    pub(super) store: Arc<dyn Store>,
    /// The TLS settings for the other hosts.
    pub(super) tls: TlsFiles,
}

impl Passages for OfStore {
    fn find<'a>(&'a self, agent: &'a WorkspaceName) -> BoxFuture<'a, Option<Passage>> {
        Box::pin(async move {
            let found = self.store.host_of_agent(agent.clone()).await;
            let found = found.inspect_err(|error| {
                let error = error as &dyn std::error::Error;
                tracing::debug!(error, %agent, "the host of an agent cannot be looked up");
            });
            let AgentElsewhere { host, token } = found.ok()??;
            let base = host.address?;
            Some(Passage {
                host: host.name,
                address: Address {
                    url: format!("{}{AGENTS}", base.trim_end_matches('/')),
                    token: token?,
                    tls: self.tls.clone(),
                },
            })
        })
    }
}
