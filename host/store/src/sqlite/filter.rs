//! A query that is put together of the conditions that a caller has.

use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use super::fault::Fault;

/// A query and its values.
#[derive(Debug)]
pub(super) struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    /// Begins with a query that ends in a condition.
    pub(super) fn new(sql: &str) -> Self {
        Self {
            sql: sql.to_owned(),
            values: Vec::new(),
        }
    }

    /// Adds a condition, in which each `?` is this value.
    pub(super) fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let number = format!("?{}", self.values.len());
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition.replace('?', &number));
    }

    /// Adds the condition that a column begins with this text, so that an index of the column is of use.
    pub(super) fn begins_with(&mut self, column: &str, prefix: &str) {
        if !prefix.is_empty() {
            self.and(&format!("{column} >= ?"), prefix.to_owned());
            // Names of chats are ASCII, and this is behind all of it.
            self.and(&format!("{column} < ?"), format!("{prefix}\u{7f}"));
        }
    }

    /// Adds what comes behind the conditions, and returns the rows.
    pub(super) fn rows<T>(
        mut self,
        connection: &Connection,
        rest: &str,
        limit: u32,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Fault> {
        self.end(rest, limit);
        let mut statement = connection.prepare_cached(&self.sql)?;
        let rows = statement.query_map(rusqlite::params_from_iter(self.values), read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// As [`Filter::rows`], but passes over damaged rows and adds the damage to `faults`. Behind a damaged page, nothing is read.
    pub(super) fn readable_rows<T>(
        mut self,
        connection: &Connection,
        rest: &str,
        limit: u32,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        faults: &mut Vec<Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.end(rest, limit);
        let mut statement = connection.prepare_cached(&self.sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(self.values))?;
        let mut found = Vec::new();
        loop {
            let (read, is_last) = match rows.next() {
                Ok(Some(row)) => (read(row), false),
                Ok(None) => return Ok(found),
                Err(error) => (Err(error), true),
            };
            match read.map_err(Fault::from) {
                Ok(one) => found.push(one),
                Err(fault) if fault.is_damage() => faults.push(fault),
                Err(fault) => return Err(fault),
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    fn end(&mut self, rest: &str, limit: u32) {
        self.sql.push_str(rest);
        self.sql.push_str(&format!(" LIMIT {limit}"));
    }
}
