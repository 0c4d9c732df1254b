//! Lists of calls and chats.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};
use toolhost_state::id::ChatId;

use super::core::Running;
use super::fault::Fault;
use super::filter::Filter;
use super::row::{CallRow, select_calls};
use crate::{Call, CallQuery, Chat, ChatQuery};

/// Returns calls that run or whose outcome is kept, newest first. Calls that are damaged are left out.
pub(super) fn calls(connection: &Connection, query: &CallQuery) -> Result<Vec<Call>, Fault> {
    let mut filter = Filter::new(select_calls!("WHERE c.gone IS NULL"));
    if let Some(chat) = &query.chat {
        let mut number = connection.prepare_cached("SELECT no FROM chats WHERE name = ?1")?;
        let number = number
            .query_row([chat.as_str()], |row| row.get::<_, i64>(0))
            .optional()?;
        let Some(number) = number else {
            return Ok(Vec::new());
        };
        filter.and("c.chat = ?", number);
    }
    filter.begins_with("h.name", &query.prefix);
    if !query.states.is_empty() {
        let states: Vec<_> = query
            .states
            .iter()
            .map(|state| super::row::state_number(*state).to_string())
            .collect();
        // The list is in the text, because its length is.
        filter.and(&format!("c.state IN ({}) AND ?", states.join(", ")), 1);
    }
    if let Some(tool) = &query.tool {
        filter.and("c.tool = ?", tool.clone());
    }
    if let Some(since) = query.since_ms {
        filter.and("c.began >= ?", i64::try_from(since).unwrap_or(i64::MAX));
    }
    if let Some(text) = &query.text {
        let text = Value::Text(text.clone());
        filter.and(
            "(instr(c.arguments, ?) OR instr(CAST(substr(c.outcome, 9) AS TEXT), ?))",
            text,
        );
    }
    if let Some(before) = query.before {
        filter.and("c.seq < ?", before);
    }
    let rows = filter.rows(
        connection,
        " ORDER BY c.seq DESC",
        query.limit,
        CallRow::read,
    )?;
    let calls = rows
        .into_iter()
        .filter(CallRow::is_sound)
        .map(CallRow::into_call);
    Ok(calls.collect::<rusqlite::Result<_>>()?)
}

/// Returns chats, those with running calls first.
pub(super) fn chats(
    connection: &Connection,
    running: &Running,
    query: &ChatQuery,
) -> Result<Vec<Chat>, Fault> {
    const BUSY: &str = "SELECT no, name, owner, ended FROM chats WHERE name = ?1";
    let (most, after) = (query.limit as usize, query.after.as_ref());
    let is_idle = after.is_some_and(|after| !after.busy);
    let running = running.lock().clone();
    let mut chats = Vec::new();
    if !is_idle {
        let begins = |name: &&String| name.starts_with(&query.prefix);
        let follows =
            |name: &&String| after.is_none_or(|after| name.as_str() > after.chat.as_str());
        for name in running.keys().filter(begins).filter(follows).take(most) {
            let mut one = connection.prepare_cached(BUSY)?;
            let chat = one
                .query_row([name], |row| chat(connection, row))
                .optional()?
                .flatten();
            chats.extend(chat);
        }
    }
    let mut name = after
        .filter(|after| !after.busy)
        .map(|after| after.chat.to_string());
    while chats.len() < most {
        let mut filter = Filter::new("SELECT no, name, owner, ended FROM chats WHERE 1");
        filter.begins_with("name", &query.prefix);
        if let Some(name) = name.take() {
            filter.and("name > ?", name);
        }
        let page = filter.rows(connection, " ORDER BY name", query.limit, |row| {
            chat(connection, row)
        })?;
        let is_last = page.len() < most;
        name = page
            .iter()
            .flatten()
            .last()
            .map(|chat| chat.chat.to_string());
        let idle = page
            .into_iter()
            .flatten()
            .filter(|chat| !running.contains_key(chat.chat.as_str()));
        chats.extend(idle);
        if is_last || name.is_none() {
            break;
        }
    }
    chats.truncate(most);
    for chat in &mut chats {
        chat.running = running.get(chat.chat.as_str()).copied().unwrap_or_default();
    }
    Ok(chats)
}

/// Reads a chat; `None` if its name is damaged.
fn chat(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Chat>> {
    const USED: &str =
        "SELECT began FROM calls WHERE chat = ?1 AND gone IS NULL ORDER BY seq DESC LIMIT 1";
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
