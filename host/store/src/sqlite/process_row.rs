//! The row of a process, with its checksum.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};
use toolhost_state::id::ChatId;

use super::checksum::checksum;
use super::fault::Fault;
use crate::Process;

/// A row of the table `processes`: the process as JSON, and the columns for lookups.
#[derive(Debug)]
pub(super) struct ProcessRow {
    id: String,
    chat: Option<String>,
    key: Option<String>,
    live: bool,
    body: String,
}

impl ProcessRow {
    /// The query for rows that [`ProcessRow::read`] can read. It ends in a condition.
    pub(super) const SELECT: &str =
        "SELECT id, chat, key, live, body, sum FROM processes WHERE true";

    pub(super) fn of(process: &Process) -> Result<Self, Fault> {
        Ok(Self {
            id: process.id.clone(),
            chat: process.chat.as_ref().map(ChatId::to_string),
            key: process.key.clone(),
            live: process.state.is_live(),
            body: serde_json::to_string(process).map_err(std::io::Error::other)?,
        })
    }

    /// Reads a process. Fails if the row does not match its checksum.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Process> {
        let read = Self {
            id: row.get(0)?,
            chat: row.get(1)?,
            key: row.get(2)?,
            live: row.get(3)?,
            body: row.get(4)?,
        };
        let wrong = |error| rusqlite::Error::FromSqlConversionFailure(4, Type::Text, error);
        if row.get::<_, i64>(5)? != read.sum() {
            return Err(wrong(
                "the row of a process does not match its checksum".into(),
            ));
        }
        serde_json::from_str(&read.body).map_err(|error| wrong(error.into()))
    }

    /// Adds the row at the end of the table.
    pub(super) fn add(&self, connection: &Connection) -> Result<(), Fault> {
        const ADD: &str = "REPLACE INTO processes (id, chat, key, live, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut add = connection.prepare_cached(ADD)?;
        let sum = self.sum();
        add.execute(params![
            self.id, self.chat, self.key, self.live, self.body, sum
        ])?;
        Ok(())
    }

    /// Replaces the row of the same process, if there is one.
    pub(super) fn update(&self, connection: &Connection) -> Result<(), Fault> {
        const UPDATE: &str = "UPDATE processes SET live = ?2, body = ?3, sum = ?4 WHERE id = ?1";
        let mut update = connection.prepare_cached(UPDATE)?;
        update.execute(params![self.id, self.live, self.body, self.sum()])?;
        Ok(())
    }

    fn sum(&self) -> i64 {
        let has = [self.chat.is_some(), self.key.is_some(), self.live].map(u8::from);
        let optional = |text: &Option<String>| text.clone().unwrap_or_default();
        checksum(&[
            &has,
            self.id.as_bytes(),
            optional(&self.chat).as_bytes(),
            optional(&self.key).as_bytes(),
            self.body.as_bytes(),
        ])
    }
}
