//! The other hosts of a store: their cancellations reach the calls of this one, and their calls are taken over when they end.

use std::sync::Weak;

use tokio::sync::mpsc::UnboundedReceiver;
use toolhost_store::{News, StoreError};

use super::{Inner, interrupted};

/// Does what the other hosts of the store ask for, until this host is dropped.
pub(super) async fn listen(host: Weak<Inner>, mut news: UnboundedReceiver<News>) {
    while let Some(news) = news.recv().await {
        let Some(inner) = host.upgrade() else {
            return;
        };
        match news {
            News::Cancelled { chat, call } => inner.ledger.cancelled_elsewhere(&chat, &call),
            News::Interrupted => match inner.ledger.take_over().await {
                Ok(calls) => {
                    interrupted::settle(&inner.ledger, calls, &*inner.workspace, &inner.workspaces)
                        .await;
                }
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the calls of another host cannot be taken over now");
                }
            },
            News::Workspace(name) => told(inner.workspaces.learn(&name).await),
            News::Bound(chat) => told(inner.workspaces.learn_chat(&chat).await),
            News::Reachable => {
                inner.ledger.catch_up().await;
                told(inner.workspaces.learn_all().await);
            }
        }
    }
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
