//! Pages of chats, and the tools that were found in a chat.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Object;
use tokio_postgres::Row;
use toolhost_state::id::ChatId;
use toolhost_state::unix_time;
use toolhost_store::{Chat, ChatEvent, ChatPage, ChatQuery, ChatsAfter, FoundTools};

use crate::Shared;
use crate::call_row::{time, to_time};
use crate::database::{Values, run, transact};
use crate::error::Fault;
use crate::lease::require_lease;
use crate::listen::CHANNEL;
use crate::query::Query;
use crate::readers::{is_read_elsewhere, told};

/// The columns that [`chat`] reads.
const COLUMNS: &str = "SELECT h.chat, h.owner, h.ended, (SELECT began FROM toolhost.calls c WHERE c.chat = h.chat AND c.gone IS NULL \
     ORDER BY c.number DESC LIMIT 1) FROM toolhost.chats h WHERE true";

impl Shared {
    /// Returns a page of chats: first those with running calls, at whichever host, then the others, each group sorted by name.
    pub(crate) async fn chats(&self, query: &ChatQuery) -> Result<ChatPage, Fault> {
        run!(self.database, connection => {
            let query = ChatQuery {
                busy: busy(connection, query).await?,
                ..query.clone()
            };
            page(connection, &query).await
        })
    }

    /// Marks a chat as ended.
    pub(crate) async fn end_chat(&self, chat: &ChatId) -> Result<(), Fault> {
        const END: &str = concat!(
            "WITH ended AS (UPDATE toolhost.chats SET ended = $2, found = NULL WHERE chat = $1 AND toolhost.has_lease($3)) ",
            "SELECT pg_notify($4, $5) WHERE toolhost.has_lease($3) AND ",
            is_read_elsewhere!("$1", "$3")
        );
        let (now, host) = (to_time(unix_time::now_ms()), self.lease.host());
        let event = told(host, chat, ChatEvent::Ended);
        run!(self.database, connection => {
            let end = connection.prepare_cached(END).await?;
            let values: &Values<'_> =
                &[&chat.as_str(), &now, &host, &CHANNEL, &event];
            connection.query(&end, values).await?;
            Ok(())
        })
    }

    /// Adds tools to those that were found in a chat. Returns whether the list has changed.
    pub(crate) async fn add_found_tools(&self, found: &FoundTools) -> Result<bool, Fault> {
        // The row stays locked, so that no other host adds tools meanwhile.
        const KNOWN: &str = "INSERT INTO toolhost.chats AS h (chat, owner) VALUES ($1, $2) \
             ON CONFLICT (chat) DO UPDATE SET chat = h.chat RETURNING found";
        const STORE: &str = "UPDATE toolhost.chats SET found = $2 WHERE chat = $1";
        let host = self.lease.host();
        transact!(self.database, transaction => {
            require_lease(transaction, host).await?;
            let values: &Values<'_> = &[&found.chat.as_str(), &found.principal];
            let known = transaction.query_one(KNOWN, values).await?;
            let mut all = names(known.try_get(0)?);
            let is_changed = found.add_to(&mut all);
            if is_changed {
                let all = serde_json::Value::from(all).to_string();
                transaction.execute(STORE, &[&found.chat.as_str(), &all]).await?;
            }
            Ok(is_changed)
        })
    }

    /// Returns the names of the tools that were found in a chat.
    pub(crate) async fn found_tools(&self, chat: &ChatId) -> Result<Vec<String>, Fault> {
        const FOUND: &str = "SELECT found FROM toolhost.chats WHERE chat = $1";
        run!(self.database, connection => {
            let found = connection.prepare_cached(FOUND).await?;
            let row = connection.query_opt(&found, &[&chat.as_str()]).await?;
            let found: Option<Option<String>> = row.map(|row| row.try_get(0)).transpose()?;
            Ok(names(found.flatten()))
        })
    }
}

/// Reads the names of tools that were found. If they cannot be read, none was found: they can be found again.
fn names(found: Option<String>) -> Vec<String> {
    let found = found.map(|names| serde_json::from_str(&names).unwrap_or_default());
    found.unwrap_or_default()
}

/// Returns the chats with running calls: those of the query, and those that the database knows.
async fn busy(connection: &Object, query: &ChatQuery) -> Result<BTreeMap<ChatId, u64>, Fault> {
    const RUNNING: &str = "SELECT chat, count(*) FROM toolhost.calls WHERE state = 0 GROUP BY chat";
    let mut busy = query.busy.clone();
    let running = connection.prepare_cached(RUNNING).await?;
    for row in connection.query(&running, &[]).await? {
        let (name, count): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        if let Ok(chat) = name.parse() {
            let known: &mut u64 = busy.entry(chat).or_default();
            *known = (*known).max(time(count));
        }
    }
    Ok(busy)
}

async fn page(connection: &Object, query: &ChatQuery) -> Result<ChatPage, Fault> {
    // Ask for one more than the limit to learn whether another page follows.
    let wanted = (query.limit as usize).saturating_add(1);
    let (mut chats, mut after) = (Vec::new(), None);
    match &query.after {
        Some(ChatsAfter { busy: false, chat }) => after = Some(chat),
        Some(ChatsAfter { busy: true, chat }) => {
            chats = running(connection, query, Some(chat), wanted).await?;
        }
        None => chats = running(connection, query, None, wanted).await?,
    }
    let left = wanted.saturating_sub(chats.len());
    if left > 0 {
        let mut idle = Query::new(COLUMNS);
        idle.and_begins_with("h.chat", &query.prefix);
        if let Some(after) = after {
            idle.and("h.chat > ?", after.to_string());
        }
        let busy: Vec<_> = query.busy.keys().map(ChatId::to_string).collect();
        idle.and("h.chat <> ALL(?)", busy);
        idle.add(&format!(" ORDER BY h.chat LIMIT {left}"));
        for row in idle.rows(connection).await? {
            chats.extend(chat(&row)?);
        }
    }
    Ok(query.page(chats))
}

/// Returns chats with running calls, by name.
async fn running(
    connection: &Object,
    query: &ChatQuery,
    after: Option<&ChatId>,
    most: usize,
) -> Result<Vec<Chat>, Fault> {
    let wanted = query.busy.iter().filter(|(chat, _)| {
        chat.as_str().starts_with(&query.prefix) && after.is_none_or(|after| *chat > after)
    });
    let wanted: BTreeMap<_, _> = wanted.take(most).collect();
    let names: BTreeSet<_> = wanted.keys().map(|chat| chat.to_string()).collect();
    let mut stored = Query::new(COLUMNS);
    stored.and("h.chat = ANY(?)", Vec::from_iter(names));
    let mut known = BTreeMap::new();
    for row in stored.rows(connection).await? {
        known.extend(chat(&row)?.map(|chat| (chat.chat.clone(), chat)));
    }
    let chats = wanted.into_iter().map(|(name, running)| {
        let unknown = || Chat::unstored(name.clone());
        Chat {
            running: *running,
            ..known.remove(name).unwrap_or_else(unknown)
        }
    });
    Ok(chats.collect())
}

/// Reads a row of [`COLUMNS`].
fn chat(row: &Row) -> Result<Option<Chat>, Fault> {
    let name: String = row.try_get(0)?;
    let Ok(chat) = name.parse() else {
        return Ok(None);
    };
    let at = |column: usize| -> Result<Option<u64>, Fault> {
        let at: Option<i64> = row.try_get(column)?;
        Ok(at.map(time))
    };
    Ok(Some(Chat {
        chat,
        principal: row.try_get(1)?,
        running: 0,
        used_ms: at(3)?,
        ended_ms: at(2)?,
    }))
}
