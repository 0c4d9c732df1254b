//! A builder of queries with a variable number of conditions.

use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use super::fault::Fault;

/// A query under construction, with the values of its conditions.
#[derive(Debug)]
pub(super) struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    /// Starts from a query that ends in a condition.
    pub(super) fn new(sql: &str) -> Self {
        Self {
            sql: sql.to_owned(),
            values: Vec::new(),
        }
    }

    /// Adds a condition. Each `?` in it stands for the value.
    pub(super) fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let number = format!("?{}", self.values.len());
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition.replace('?', &number));
    }

    /// Adds the condition that a column begins with this text. The condition is a range, so that SQLite can use an index of the column.
    pub(super) fn and_begins_with(&mut self, column: &str, prefix: &str) {
        if !prefix.is_empty() {
            self.and(&format!("{column} >= ?"), prefix.to_owned());
            // Names of chats are printable ASCII, which sorts before this character.
            self.and(&format!("{column} < ?"), format!("{prefix}\u{7f}"));
        }
    }

    /// Appends the rest of the query and the limit, runs the query, and returns the rows.
    pub(super) fn rows<T>(
        mut self,
        connection: &Connection,
        rest: &str,
        limit: u32,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Fault> {
        self.finish(rest, limit);
        let mut statement = connection.prepare_cached(&self.sql)?;
        let rows = statement.query_map(rusqlite::params_from_iter(self.values), read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Does the same as [`Filter::rows`], but skips damaged rows and adds the damage to `faults`. At a damaged page, the result ends.
    pub(super) fn readable_rows<T>(
        mut self,
        connection: &Connection,
        rest: &str,
        limit: u32,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        faults: &mut Vec<Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.finish(rest, limit);
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

    fn finish(&mut self, rest: &str, limit: u32) {
        self.sql.push_str(rest);
        self.sql.push_str(&format!(" LIMIT {limit}"));
    }

    /// Returns SQLite's plan for the query: a line for each step.
    #[cfg(test)]
    pub(super) fn explain(
        mut self,
        connection: &Connection,
        rest: &str,
    ) -> Result<Vec<String>, Fault> {
        self.sql.insert_str(0, "EXPLAIN QUERY PLAN ");
        self.rows(connection, rest, 1, |row| row.get(3))
    }
}
