//! Notifications of other hosts, on one channel of the database.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client};
use tokio_postgres_rustls::MakeRustlsConnect;
use toolhost_state::id::{CallId, ChatId};
use toolhost_store::{ChatEvent, News, Quarantine};
use uuid::Uuid;

use crate::cancel::CANCELLED;
use crate::error::Fault;
use crate::{Config, Shared};

/// The channel.
pub(crate) const CHANNEL: &str = "toolhost";

/// The pause before a connection that was lost is made again.
const PAUSE: Duration = Duration::from_millis(500);

/// A notification.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// A call has ended, for whose end another host waits.
    Ended { chat: ChatId, call: String },
    /// A workspace was made, changed or removed by this host.
    Workspace { by: Uuid, name: String },
    /// A chat was bound to a workspace by this host.
    Bound { by: Uuid, chat: ChatId },
    /// A plugin was turned on or off at this host.
    Switched { by: Uuid },
    /// A plugin was quarantined at this host.
    Quarantined {
        by: Uuid,
        plugin: String,
        sha256: String,
        milliseconds: u64,
    },
    /// Something happened at this host in a chat whose events others read.
    Event {
        by: Uuid,
        chat: ChatId,
        event: ChatEvent,
    },
    /// A call that runs at this host was cancelled.
    Cancelled {
        host: Uuid,
        chat: ChatId,
        call: String,
    },
}

impl Message {
    pub(crate) fn to_json(&self) -> String {
        // Its keys are strings, so it has JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Listens for as long as the store is open. Says once when it has begun to.
pub(crate) async fn listen(shared: Arc<Shared>, config: Config, begun: oneshot::Sender<()>) {
    let mut begun = Some(begun);
    loop {
        if let Err(fault) = listen_once(&shared, &config, &mut begun).await {
            tracing::debug!(
                error = &fault as &dyn std::error::Error,
                "the connection that listens was lost"
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Listens on one connection until it is lost, or no longer answers. Each heartbeat asks it for an answer: a cut that drops packets is no
/// error on a connection that only listens.
async fn listen_once(
    shared: &Arc<Shared>,
    config: &Config,
    begun: &mut Option<oneshot::Sender<()>>,
) -> Result<(), Fault> {
    let tls = MakeRustlsConnect::new(config.tls.clone());
    let connecting = timeout(config.patience, config.parsed()?.connect(tls)).await;
    let (client, mut connection) = connecting.map_err(|_| Fault::Late(config.patience))??;
    let mut messages =
        futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    let working = async {
        start(shared, &client).await?;
        // The store may have been dropped meanwhile.
        _ = begun.take().map(|begun| begun.send(()));
        let (mut beats, patience) = (shared.lease.beats(), shared.lease.patience());
        loop {
            beats.tick().await;
            let answered = timeout(patience, client.batch_execute("")).await;
            answered.map_err(|_| Fault::Late(patience))??;
        }
    };
    let mut working = std::pin::pin!(working);
    loop {
        let message = tokio::select! {
            broken = &mut working => return broken,
            message = futures_util::StreamExt::next(&mut messages) => message,
        };
        match message {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                shared.hear(notification.payload());
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.into()),
            None => return Ok(()),
        }
    }
}

/// Begins to listen, and does what notifications that nobody heard were for.
async fn start(shared: &Arc<Shared>, client: &Client) -> Result<(), Fault> {
    client
        .batch_execute(&format!("{}; LISTEN {CHANNEL}", Config::SESSION))
        .await?;
    // What happened before is looked up where it matters, but for changes of workspaces.
    shared.tell(News::Reachable);
    for waiter in shared.awaited.lock().values() {
        waiter.send_replace(());
    }
    let cancelled = client.query(CANCELLED, &[&shared.lease.host()]).await?;
    shared.tell_cancelled(&cancelled)
}

impl Shared {
    /// Does what a notification is for.
    fn hear(&self, payload: &str) {
        let message = match serde_json::from_str(payload) {
            Ok(message) => message,
            Err(error) => {
                // A later version may say more.
                tracing::debug!(%error, "a notification cannot be read");
                return;
            }
        };
        match message {
            Message::Ended { chat, call } => {
                let key = CallId::recorded(&call).ok().map(|call| (chat, call));
                if let Some(waiter) = key.and_then(|key| self.awaited.lock().get(&key).cloned()) {
                    waiter.send_replace(());
                }
            }
            Message::Workspace { by, name } if by != self.lease.host() => {
                if let Ok(name) = name.parse() {
                    self.tell(News::Workspace(name));
                }
            }
            Message::Bound { by, chat } if by != self.lease.host() => self.tell(News::Bound(chat)),
            Message::Switched { by } if by != self.lease.host() => self.tell(News::Switched),
            Message::Quarantined {
                by,
                plugin,
                sha256,
                milliseconds,
            } if by != self.lease.host() => self.tell(News::Quarantined(Quarantine {
                plugin,
                sha256,
                lasts: Duration::from_millis(milliseconds),
            })),
            Message::Event { by, chat, event } if by != self.lease.host() => {
                self.tell(News::Event { chat, event });
            }
            Message::Workspace { .. }
            | Message::Bound { .. }
            | Message::Switched { .. }
            | Message::Quarantined { .. }
            | Message::Event { .. } => {}
            // Another host may have taken the call over from this one, where it runs on.
            Message::Cancelled { chat, call, .. } => {
                if let Ok(call) = CallId::recorded(&call) {
                    self.tell(News::Cancelled { chat, call });
                }
            }
        }
    }
}
