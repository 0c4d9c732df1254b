//! The calls that a call has made: a range of the index of names.

use rusqlite::{Connection, OptionalExtension, params};
use toolhost_state::id::{CallId, ChatId};

use super::calls::find;
use super::fault::Fault;
use super::row::{CallRow, select_calls};
use crate::{CallState, NestedCall, NestedRecord};

/// Returns the calls that a call has made, in the order of their numbers.
///
/// A bit that changed in the file can hide a call from the index. So each number below the greatest one that is not in the range is
/// looked up by its name, which compares both indexes.
pub(super) fn calls(
    connection: &Connection,
    chat: &ChatId,
    outer: &CallId,
) -> Result<Vec<NestedCall>, Fault> {
    const CHAT: &str = "SELECT no FROM chats WHERE name = ?1";
    // `0` is the character after `/`.
    const RANGE: &str =
        select_calls!("WHERE c.chat = ?1 AND c.call > ?2 || '/' AND c.call < ?2 || '0'");
    let mut number = connection.prepare_cached(CHAT)?;
    let number = number.query_row([chat.as_str()], |row| row.get::<_, i64>(0));
    let Some(number) = number.optional()? else {
        return Ok(Vec::new());
    };
    let mut range = connection.prepare_cached(RANGE)?;
    let rows = range.query_map(params![number, outer.as_str()], CallRow::read)?;
    let mut calls = Vec::new();
    for row in rows {
        let row = row?;
        if let Some(number) = number_of(&row.call) {
            let record = record(&row);
            calls.push(NestedCall { number, record });
        }
    }
    calls.sort_unstable_by_key(|call| call.number);
    let last = calls.last().map_or(0, |call| call.number);
    let mut hidden = Vec::new();
    for number in 1..last {
        if calls
            .binary_search_by_key(&number, |call| call.number)
            .is_ok()
        {
            continue;
        }
        let Some(nested) = outer.nested(number) else {
            continue;
        };
        let record = match find(connection, chat.as_str(), nested.as_str()) {
            Ok(None) => continue,
            Ok(Some(row)) => record(&row),
            Err(fault) if fault.is_damage() => NestedRecord::Damaged,
            Err(fault) => return Err(fault),
        };
        hidden.push(NestedCall { number, record });
    }
    calls.extend(hidden);
    calls.sort_unstable_by_key(|call| call.number);
    Ok(calls)
}

fn record(row: &CallRow) -> NestedRecord {
    match row.state {
        _ if !row.is_sound() => NestedRecord::Damaged,
        CallState::Tombstone => NestedRecord::Tombstone,
        // Of a call that was lost, the digest is lost as well.
        _ if row.tool.is_empty() => NestedRecord::Damaged,
        _ => NestedRecord::Begun(row.digest),
    }
}

/// Returns the number in the name of a nested call.
fn number_of(call: &str) -> Option<u32> {
    CallId::recorded(call)
        .ok()?
        .outer()
        .map(|(_, number)| number)
}
