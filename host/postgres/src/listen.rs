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

use crate::cancelled::CANCELLED;
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
    /// Returns the news that the message is for the host with this lease; `None` if it is for none, or is of this host itself.
    fn news_at(self, host: Uuid) -> Option<News> {
        match self {
            Self::Workspace { by, name } if by != host => name.parse().ok().map(News::Workspace),
            Self::Bound { by, chat } if by != host => Some(News::Bound(chat)),
            Self::Switched { by } if by != host => Some(News::Switched),
            Self::Quarantined {
                by,
                plugin,
                sha256,
                milliseconds,
            } if by != host => Some(News::Quarantined(Quarantine {
                plugin,
                sha256,
                lasts: Duration::from_millis(milliseconds),
            })),
            Self::Event { by, chat, event } if by != host => Some(News::Event { chat, event }),
            // Another host may have taken the call over from this one, where it runs on.
            Self::Cancelled { chat, call, .. } => {
                let call = CallId::recorded(&call).ok()?;
                Some(News::Cancelled { chat, call })
            }
            Self::Workspace { .. }
            | Self::Bound { .. }
            | Self::Switched { .. }
            | Self::Quarantined { .. }
            | Self::Event { .. }
            | Self::Ended { .. } => None,
        }
    }

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
        let started = timeout(config.patience, start(shared, &client)).await;
        started.map_err(|_| Fault::Late(config.patience))??;
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
            message => {
                if let Some(news) = message.news_at(self.lease.host()) {
                    self.tell(news);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(message: &Message, host: Uuid) -> Option<News> {
        let heard: Message = serde_json::from_str(&message.to_json()).unwrap();
        heard.news_at(host)
    }

    #[test]
    fn a_host_hears_of_others_and_not_of_itself() {
        let (host, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let chat: ChatId = "c".parse().unwrap();
        let bound = Message::Bound {
            by: other,
            chat: chat.clone(),
        };
        assert_eq!(heard(&bound, host), Some(News::Bound(chat)));
        assert_eq!(heard(&bound, other), None);
        let switched = Message::Switched { by: other };
        assert_eq!(heard(&switched, host), Some(News::Switched));
        assert_eq!(heard(&switched, other), None);
        let unknown = Message::Workspace {
            by: other,
            name: "no/../name".to_owned(),
        };
        assert_eq!(heard(&unknown, host), None);
    }

    /// The call may run on at a host that has lost its lease, and with it the id that the message names.
    #[test]
    fn every_host_hears_of_a_cancellation() {
        let cancelled = Message::Cancelled {
            host: Uuid::from_u128(1),
            chat: "c".parse().unwrap(),
            call: "1".to_owned(),
        };
        for host in [1, 2] {
            let news = heard(&cancelled, Uuid::from_u128(host));
            assert!(matches!(news, Some(News::Cancelled { .. })), "{news:?}");
        }
    }
}
