//! The row of an MCP session. It has a checksum, because a damaged name must not lead a client into the chat of another client.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use super::checksum::checksum;
use super::fault::Fault;
use super::filter::Filter;
use crate::Session;

/// Stores a session, or replaces it.
pub(super) fn put(connection: &Connection, session: &Session) -> Result<(), Fault> {
    let put = "REPLACE INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let time = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    connection.prepare_cached(put)?.execute(params![
        session.id,
        session.chat.as_str(),
        session.is_named,
        session.principal,
        session.token,
        session.revision,
        session.client,
        time(session.created_ms),
        time(session.used_ms),
        sum(session),
    ])?;
    Ok(())
}

/// Returns all sessions, and a fault for each that cannot be read. At a damaged page, the list ends.
pub(super) fn all(connection: &Connection) -> Result<(Vec<Session>, Vec<Fault>), Fault> {
    let mut faults = Vec::new();
    let rows = Filter::new("SELECT * FROM sessions WHERE true");
    let found = rows.readable_rows(connection, "", u32::MAX, read, &mut faults)?;
    Ok((found, faults))
}

/// Reads a session. Fails if the row does not match its checksum.
fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    let wrong = |error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, error);
    let chat: String = row.get(1)?;
    let session = Session {
        id: row.get(0)?,
        chat: chat.parse().map_err(|error| {
            let error: toolhost_state::id::InvalidId = error;
            wrong(error.into())
        })?,
        is_named: row.get(2)?,
        principal: row.get(3)?,
        token: row.get(4)?,
        revision: row.get(5)?,
        client: row.get(6)?,
        created_ms: row.get(7)?,
        used_ms: row.get(8)?,
    };
    match row.get::<_, i64>(9)? == sum(&session) {
        true => Ok(session),
        false => Err(wrong(
            "the row of a session does not match its checksum".into(),
        )),
    }
}

fn sum(session: &Session) -> i64 {
    checksum(&[
        session.id.as_bytes(),
        session.chat.as_str().as_bytes(),
        &[u8::from(session.is_named)],
        session.principal.as_bytes(),
        &session.token,
        session.revision.as_bytes(),
        session.client.as_bytes(),
        &session.created_ms.to_le_bytes(),
        &session.used_ms.to_le_bytes(),
    ])
}
