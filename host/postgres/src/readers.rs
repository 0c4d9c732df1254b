//! The chats whose events clients read at this host, and the events that the other hosts tell it.
//!
//! A statement that begins or ends a call, or ends a chat, notifies only if another host reads the events of the chat. So calls of chats
//! without readers cost no notification.

use toolhost_state::id::ChatId;
use toolhost_store::ChatEvent;
use uuid::Uuid;

use crate::Shared;
use crate::database::{Values, run};
use crate::error::Fault;
use crate::lease::with_lease;
use crate::listen::{CHANNEL, Message};

/// The condition under which a host reads the events of a chat. The arguments are expressions for the chat, and for the host that tells
/// of them.
macro_rules! is_read_elsewhere {
    ($chat:literal, $host:literal) => {
        concat!(
            "EXISTS (SELECT FROM toolhost.readers WHERE chat = ",
            $chat,
            " AND host <> ",
            $host,
            ")"
        )
    };
}
pub(crate) use is_read_elsewhere;

/// Returns the notification of an event.
pub(crate) fn told(host: Uuid, chat: &ChatId, event: ChatEvent) -> String {
    let message = Message::Event {
        by: host,
        chat: chat.clone(),
        event,
    };
    message.to_json()
}

impl Shared {
    /// Stores that clients read the events of a chat here.
    pub(crate) async fn add_reader(&self, chat: &ChatId) -> Result<(), Fault> {
        const ADD: &str = "WITH lease AS (SELECT id FROM toolhost.hosts WHERE id = $1 AND until > clock_timestamp()), \
             new AS (INSERT INTO toolhost.readers (chat, host) SELECT $2, id FROM lease ON CONFLICT (chat, host) DO NOTHING) \
             SELECT EXISTS (SELECT FROM lease)";
        with_lease!(self, host => run!(self.database, connection => {
            let add = connection.prepare_cached(ADD).await?;
            let row = connection.query_one(&add, &[&host, &chat.as_str()]).await?;
            match row.try_get(0)? {
                true => Ok(()),
                false => Err(Fault::NoLease),
            }
        }))
    }

    /// Stores that clients read the events of these chats here, and of no others.
    pub(crate) async fn sync_readers(&self, chats: &[ChatId]) -> Result<(), Fault> {
        const SYNC: &str = "WITH gone AS (DELETE FROM toolhost.readers WHERE host = $1 AND chat <> ALL ($2)) \
             INSERT INTO toolhost.readers (chat, host) \
             SELECT chat, $1 FROM unnest($2::text[]) AS chats (chat) WHERE toolhost.has_lease($1) \
             ON CONFLICT (chat, host) DO NOTHING";
        let chats: Vec<_> = chats.iter().map(ChatId::as_str).collect();
        let host = self.lease.host();
        run!(self.database, connection => {
            let sync = connection.prepare_cached(SYNC).await?;
            connection.execute(&sync, &[&host, &chats]).await?;
            Ok(())
        })
    }

    /// Tells an event to the hosts that read those of the chat.
    pub(crate) async fn tell_event(&self, chat: &ChatId, event: ChatEvent) -> Result<(), Fault> {
        const TELL: &str = concat!(
            "SELECT pg_notify($3, $4) WHERE ",
            is_read_elsewhere!("$1", "$2")
        );
        let host = self.lease.host();
        let message = told(host, chat, event);
        run!(self.database, connection => {
            let tell = connection.prepare_cached(TELL).await?;
            let values: &Values<'_> = &[&chat.as_str(), &host, &CHANNEL, &message];
            connection.query(&tell, values).await?;
            Ok(())
        })
    }
}
