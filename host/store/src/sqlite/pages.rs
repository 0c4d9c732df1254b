//! Pages of calls. A page looks at a bounded number of calls, so that a query that matches nothing also returns quickly.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};
use toolhost_state::id::CallId;

use super::fault::Fault;
use super::filter::Filter;
use super::row::{CallRow, state_number};
use crate::{BYTES_OF_PAGE, CALLS_OF_PAGE, CallPage, CallQuery, CallSummary};

/// The columns of a call for [`CallRow::read`], without arguments and outcome, and then the bytes of both, and the end of the
/// outcome.
const COLUMNS: &str = "SELECT c.seq, c.chat, c.call, c.key, c.principal, c.tool, c.tools, c.state, c.cancelled, c.digest, c.began, \
     c.ended, c.tick, c.held, c.gone, c.sum, NULL, NULL, h.name, octet_length(c.arguments), octet_length(c.outcome) - 8, \
     substr(c.outcome, -80)";

/// Returns a page of the calls that run or whose outcome is kept, newest first. Calls that are damaged are left out.
pub(super) fn calls(connection: &Connection, query: &CallQuery) -> Result<CallPage, Fault> {
    let mut chat = None;
    if let Some(name) = &query.chat {
        let mut number = connection.prepare_cached("SELECT no FROM chats WHERE name = ?1")?;
        let number = number.query_row([name.as_str()], |row| row.get::<_, i64>(0));
        chat = number.optional()?;
        if chat.is_none() {
            return Ok(CallPage::default());
        }
    }
    let before = query.before.unwrap_or(i64::MAX);
    let floor = match chat {
        // An index finds the one call, so no bound is needed.
        Some(_) if query.call.is_some() => None,
        Some(chat) => floor_of_chat(connection, chat, query, before)?,
        None => floor_of_all(connection, query, before)?,
    };
    let filter = filter(chat, query, floor);
    // Ask for one more than the limit to learn whether another page follows.
    let wanted = query.limit.saturating_add(1);
    let mut found = filter.rows(connection, " ORDER BY c.seq DESC", wanted, |row| {
        // A row that cannot be read is damaged, and is left out.
        Ok((row.get::<_, i64>(0)?, summary(row).ok().flatten()))
    })?;
    let is_full = found.len() > query.limit as usize;
    found.truncate(query.limit as usize);
    let next = match found.last() {
        Some((number, _)) if is_full => Some(*number),
        _ => floor.map(|floor| floor.saturating_add(1)),
    };
    let calls = found.into_iter().filter_map(|(_, call)| call).collect();
    Ok(CallPage { calls, next })
}

/// Returns the floor of a page of one chat: the number of the newest call below the page. `None`: the page reaches the oldest call.
fn floor_of_chat(
    connection: &Connection,
    chat: i64,
    query: &CallQuery,
    before: i64,
) -> Result<Option<i64>, Fault> {
    const NEXT: &str = "SELECT seq FROM calls INDEXED BY calls_kept WHERE chat = ?1 AND gone IS NULL AND seq < ?2 \
         ORDER BY seq DESC LIMIT 1 OFFSET ?3";
    const SIZES: &str = "SELECT seq, held FROM calls INDEXED BY calls_kept WHERE chat = ?1 AND gone IS NULL AND seq < ?2 \
         ORDER BY seq DESC LIMIT ?3";
    if query.text.is_some() {
        let mut sizes = connection.prepare_cached(SIZES)?;
        return within_bytes(sizes.query(params![chat, before, CALLS_OF_PAGE + 1])?);
    }
    if !query.is_filtered() {
        return Ok(None);
    }
    let mut next = connection.prepare_cached(NEXT)?;
    let next = next.query_row(params![chat, before, CALLS_OF_PAGE], |row| row.get(0));
    Ok(next.optional()?)
}

/// Returns the floor of a page of all chats, as [`floor_of_chat`] does. Here, pages without a filter need a floor as well, because the
/// outcomes of most calls may be gone.
fn floor_of_all(
    connection: &Connection,
    query: &CallQuery,
    before: i64,
) -> Result<Option<i64>, Fault> {
    const NEWEST: &str = "SELECT max(seq) FROM calls WHERE seq < ?1";
    const SIZES: &str =
        "SELECT seq, held FROM calls NOT INDEXED WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2";
    if query.text.is_some() {
        let mut sizes = connection.prepare_cached(SIZES)?;
        return within_bytes(sizes.query(params![before, CALLS_OF_PAGE + 1])?);
    }
    let mut newest = connection.prepare_cached(NEWEST)?;
    let mut newest = |before: i64| newest.query_row([before], |row| row.get::<_, Option<i64>>(0));
    let Some(first) = newest(before)? else {
        return Ok(None);
    };
    // Each call has a number of its own, so a range of this many numbers has at most as many calls.
    Ok(newest(first.saturating_sub(CALLS_OF_PAGE - 1))?)
}

/// Returns the number of the first of these calls that is beyond the bounds of a search; `None` if all are within.
fn within_bytes(mut sizes: Rows<'_>) -> Result<Option<i64>, Fault> {
    let (mut calls, mut bytes) = (0, 0_i64);
    while let Some(row) = sizes.next()? {
        if calls == CALLS_OF_PAGE || bytes > BYTES_OF_PAGE {
            return Ok(Some(row.get(0)?));
        }
        calls += 1;
        bytes = bytes.saturating_add(row.get(1)?);
    }
    Ok(None)
}

/// Returns the query for the calls above the floor. `CROSS JOIN` makes SQLite walk down the calls and look up the chat of each.
fn filter(chat: Option<i64>, query: &CallQuery, floor: Option<i64>) -> Filter {
    let source = match (chat, &query.call) {
        (Some(_), Some(_)) => "INDEXED BY calls_name",
        (Some(_), None) => "INDEXED BY calls_kept",
        (None, _) => "NOT INDEXED",
    };
    let mut filter = Filter::new(&format!(
        "{COLUMNS} FROM calls c {source} CROSS JOIN chats h ON h.no = c.chat WHERE c.gone IS NULL"
    ));
    if let Some(chat) = chat {
        filter.and("c.chat = ?", chat);
    }
    filter.and_begins_with("h.name", &query.prefix);
    if let Some(call) = &query.call {
        filter.and("c.call = ?", call.to_string());
    }
    if let Some(states) = &query.states {
        let states: Vec<_> = states.iter().map(|state| state_number(*state)).collect();
        filter.and("c.state IN (SELECT value FROM json_each(?))", json(&states));
    }
    if let Some(tool) = &query.tool {
        filter.and("c.tool = ?", tool.clone());
    }
    if let Some(tools) = &query.visible {
        filter.and("c.tool IN (SELECT value FROM json_each(?))", json(tools));
    }
    let time = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    if let Some(since) = query.since_ms {
        filter.and("c.began >= ?", time(since));
    }
    if let Some(until) = query.until_ms {
        filter.and("c.began < ?", time(until));
    }
    if let Some(texts) = query.texts() {
        const CONTAINS: &str = "EXISTS (SELECT 1 FROM json_each(?) t WHERE instr(c.arguments, t.value) \
             OR instr(CAST(substr(c.outcome, 9) AS TEXT), t.value))";
        filter.and(CONTAINS, json(&texts));
    }
    if let Some(before) = query.before {
        filter.and("c.seq < ?", before);
    }
    if let Some(floor) = floor {
        filter.and("c.seq > ?", floor);
    }
    filter
}

fn json(value: &impl serde::Serialize) -> Value {
    Value::Text(serde_json::to_string(value).unwrap_or_default())
}

/// Reads a row; `None` if it is damaged.
fn summary(row: &Row<'_>) -> rusqlite::Result<Option<CallSummary>> {
    let read = CallRow::read(row)?;
    let time = |at: i64| u64::try_from(at).unwrap_or_default();
    let chat = read.name.as_ref().and_then(|name| name.parse().ok());
    let (Some(chat), Ok(call), true) = (chat, CallId::recorded(&read.call), read.is_sound()) else {
        return Ok(None);
    };
    Ok(Some(CallSummary {
        chat,
        call,
        number: read.seq,
        tool: read.tool,
        principal: read.principal,
        state: read.state,
        began_ms: time(read.began),
        ended_ms: read.ended.map(time),
        arguments_bytes: row.get(19)?,
        outcome_bytes: row.get(20)?,
        outcome_end: row.get::<_, Option<_>>(21)?.unwrap_or_default(),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;
    use crate::CallState;

    /// Returns SQLite's plan for the query of a page: a line for each step.
    fn plan(connection: &Connection, query: &CallQuery) -> Vec<String> {
        let chat = query.chat.as_ref().map(|_| 1);
        let filter = filter(chat, query, Some(0)).explain(connection, " ORDER BY c.seq DESC");
        filter.unwrap()
    }

    /// SQLite walks down the calls of a chat, or all calls, from the start of the page, and sorts nothing.
    #[test]
    fn every_filter_walks_down_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&schema::STEPS.concat()).unwrap();
        for bits in 0..1_u32 << 8 {
            let has = |bit: u32| bits & (1 << bit) != 0;
            let text = |bit: u32| has(bit).then(|| "text".to_owned());
            let query = CallQuery {
                chat: has(0).then(|| "chat".parse().unwrap()),
                prefix: text(1).unwrap_or_default(),
                call: has(2).then(|| "call".parse().unwrap()),
                states: has(3).then(|| [CallState::Failed].into()),
                tool: text(4),
                visible: has(5).then(|| ["tool".to_owned()].into()),
                since_ms: has(6).then_some(1),
                until_ms: has(6).then_some(2),
                text: text(7),
                before: Some(9),
                limit: 50,
            };
            let plan = plan(&connection, &query);
            let first = match (has(0), has(2)) {
                (true, true) => {
                    "SEARCH c USING INDEX calls_name (chat=? AND call=? AND rowid>? AND rowid<?)"
                }
                (true, false) => "SEARCH c USING INDEX calls_kept (chat=? AND rowid>? AND rowid<?)",
                (false, _) => "SEARCH c USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            };
            assert_eq!(plan[0], first, "{query:?}: {plan:#?}");
            for step in &plan[1..] {
                let known = [
                    "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)",
                    "VIRTUAL TABLE",
                    "SUBQUERY",
                    "BLOOM FILTER",
                ];
                let is_known = known.iter().any(|known| step.contains(known));
                assert!(is_known, "{step}: {query:?}");
            }
        }
    }
}
