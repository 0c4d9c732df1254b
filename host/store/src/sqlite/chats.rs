//! Pages of chats, and the tools that were found in a chat.

use std::ops::Bound;

use rusqlite::{Connection, OptionalExtension, Row, params};
use toolhost_state::id::ChatId;

use super::core::Core;
use super::fault::Fault;
use super::filter::Filter;
use crate::{Chat, ChatPage, ChatQuery, FoundTools};

impl Core {
    pub(super) fn add_found_tools(&mut self, found: &FoundTools) -> Result<bool, Fault> {
        const STORE: &str = "UPDATE chats SET found = ?2 WHERE no = ?1";
        let (number, _) = self.chat(&found.chat, &found.principal)?;
        let mut all = found_tools(&self.connection, &found.chat)?;
        let is_changed = found.add_to(&mut all);
        if is_changed {
            let all = serde_json::Value::from(all).to_string();
            let mut store = self.connection.prepare_cached(STORE)?;
            store.execute(params![number, all])?;
        }
        Ok(is_changed)
    }
}

/// Returns the names of the tools that were found in a chat. If they cannot be read, none was found: they can be found again.
pub(super) fn found_tools(connection: &Connection, chat: &ChatId) -> Result<Vec<String>, Fault> {
    const FOUND: &str = "SELECT found FROM chats WHERE name = ?1 AND found IS NOT NULL";
    let mut found = connection.prepare_cached(FOUND)?;
    let found: Option<String> = found
        .query_row([chat.as_str()], |row| row.get(0))
        .optional()?;
    let found = found.map(|names| serde_json::from_str(&names).unwrap_or_default());
    Ok(found.unwrap_or_default())
}

/// Returns a page of chats: first those in `query.busy`, then the others, each group sorted by name.
pub(super) fn page(connection: &Connection, query: &ChatQuery) -> Result<ChatPage, Fault> {
    // Ask for one more than the limit to learn whether another page follows.
    let wanted = query.limit.saturating_add(1);
    let mut chats = match &query.after {
        Some(after) if !after.busy => Vec::new(),
        _ => busy(connection, query, wanted)?,
    };
    let after = query.after.as_ref().filter(|after| !after.busy);
    let mut last = after.map(|after| after.chat.to_string());
    while chats.len() < wanted as usize {
        let mut filter = Filter::new("SELECT no, name, owner, ended FROM chats WHERE 1");
        filter.and_begins_with("name", &query.prefix);
        if let Some(name) = last.take() {
            filter.and("name > ?", name);
        }
        let found = filter.rows(connection, " ORDER BY name", wanted, |row| {
            chat(connection, row)
        })?;
        let is_last = found.len() < wanted as usize;
        let found: Vec<_> = found.into_iter().flatten().collect();
        last = found.last().map(|chat| chat.chat.to_string());
        let is_idle = |chat: &Chat| !query.busy.contains_key(&chat.chat);
        chats.extend(found.into_iter().filter(is_idle));
        if is_last || last.is_none() {
            break;
        }
    }
    Ok(query.page(chats))
}

/// Returns busy chats.
fn busy(connection: &Connection, query: &ChatQuery, wanted: u32) -> Result<Vec<Chat>, Fault> {
    const ONE: &str = "SELECT no, name, owner, ended FROM chats WHERE name = ?1";
    let after = query.after.as_ref();
    let after = after.map_or(Bound::Unbounded, |after| Bound::Excluded(&after.chat));
    let range = query.busy.range((after, Bound::Unbounded));
    let begins = |(chat, _): &(&ChatId, &u64)| chat.as_str().starts_with(&query.prefix);
    let mut one = connection.prepare_cached(ONE)?;
    let each = range.filter(begins).take(wanted as usize);
    let each = each.map(|(name, running)| {
        let found = one.query_row([name.as_str()], |row| chat(connection, row));
        let unknown = || Chat::unstored(name.clone());
        Ok(Chat {
            running: *running,
            ..found.optional()?.flatten().unwrap_or_else(unknown)
        })
    });
    each.collect()
}

/// Reads a chat; `None` if its name is damaged.
fn chat(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Chat>> {
    const USED: &str = "SELECT began FROM calls INDEXED BY calls_kept WHERE chat = ?1 AND gone IS NULL ORDER BY seq DESC LIMIT 1";
    let time = |at: i64| u64::try_from(at).unwrap_or_default();
    let (number, name): (i64, String) = (row.get(0)?, row.get(1)?);
    let mut used = connection.prepare_cached(USED)?;
    let used = used
        .query_row(params![number], |row| row.get(0))
        .optional()?;
    let Ok(chat) = name.parse::<ChatId>() else {
        return Ok(None);
    };
    Ok(Some(Chat {
        chat,
        principal: row.get(2)?,
        running: 0,
        used_ms: used.map(time),
        ended_ms: row.get::<_, Option<i64>>(3)?.map(time),
    }))
}
