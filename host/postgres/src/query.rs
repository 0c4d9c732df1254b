//! A builder of queries with a variable number of conditions.

use deadpool_postgres::Object;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::Fault;

/// A query under construction, with the values of its conditions.
pub(crate) struct Query {
    sql: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Query {
    /// Starts from a query that ends in a condition.
    pub(crate) fn new(sql: &str) -> Self {
        Self {
            sql: sql.to_owned(),
            values: Vec::new(),
        }
    }

    /// Adds a condition. Each `?` in it stands for the value.
    pub(crate) fn and(&mut self, condition: &str, value: impl ToSql + Sync + Send + 'static) {
        self.values.push(Box::new(value));
        let number = format!("${}", self.values.len());
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition.replace('?', &number));
    }

    /// Adds the condition that a column begins with this text, as a range, for which an index can be used.
    pub(crate) fn and_begins_with(&mut self, column: &str, prefix: &str) {
        if !prefix.is_empty() {
            self.and(&format!("{column} >= ?"), prefix.to_owned());
            // Names of chats are printable ASCII, which sorts before this character.
            self.and(&format!("{column} < ?"), format!("{prefix}\u{7f}"));
        }
    }

    /// Appends text to the query.
    pub(crate) fn add(&mut self, text: &str) {
        self.sql.push_str(text);
    }

    /// Runs the query.
    pub(crate) async fn rows(&self, connection: &Object) -> Result<Vec<Row>, Fault> {
        let statement = connection.prepare_cached(&self.sql).await?;
        let values = self.values.iter();
        let values: Vec<_> = values
            .map(|value| &**value as &(dyn ToSql + Sync))
            .collect();
        Ok(connection.query(&statement, &values).await?)
    }
}
