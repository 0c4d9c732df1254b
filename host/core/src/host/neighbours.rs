//! The other hosts of a store: their cancellations reach the calls of this one, and their calls are taken over when they end.

use std::sync::Weak;

use tokio::sync::mpsc::UnboundedReceiver;
use toolhost_store::News;

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
            News::Reachable => inner.ledger.catch_up().await,
        }
    }
}
