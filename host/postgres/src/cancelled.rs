//! Cancellations that other hosts stored of calls that run here, for when their notifications are lost.

use std::collections::HashSet;

use tokio_postgres::Row;
use toolhost_state::id::CallId;
use toolhost_store::News;
use uuid::Uuid;

use crate::database::{Database, run};
use crate::error::Fault;
use crate::{Key, Shared};

/// The query for the cancelled ones among some calls: their chats, `$1`, and their ids, `$2`.
const CANCELLED_OF: &str = "SELECT c.chat, c.call FROM unnest($1::text[], $2::text[]) AS of (chat, call) \
     JOIN toolhost.calls c ON c.chat = of.chat AND c.call = of.call WHERE c.cancelled";

/// The query for the calls that began at a host, `$1`, and were cancelled at another one.
pub(crate) const CANCELLED: &str = "SELECT chat, call FROM toolhost.calls WHERE state = 0 AND cancelled AND host = $1 AND NOT taken";

impl Shared {
    /// Sends the news of the calls that [`CANCELLED`] or [`CANCELLED_OF`] found. A call that was told of before is told of again.
    pub(crate) fn tell_cancelled(&self, rows: &[Row]) -> Result<(), Fault> {
        for row in rows {
            let (chat, call): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            if let (Ok(chat), Ok(call)) = (chat.parse(), CallId::recorded(&call)) {
                self.tell(News::Cancelled { chat, call });
            }
        }
        Ok(())
    }

    /// Asks for the cancellations of calls that this host runs: their notifications may be lost.
    pub(crate) async fn find_cancelled(
        &self,
        database: &Database,
        host: Uuid,
    ) -> Result<(), Fault> {
        let found = run!(database, connection => {
            let cancelled = connection.prepare_cached(CANCELLED).await?;
            Ok(connection.query(&cancelled, &[&host]).await?)
        })?;
        self.tell_cancelled(&found)
    }

    /// The same of calls that began under a lease that was lost, whoever took them over since.
    pub(crate) async fn find_cancelled_of(&self, calls: HashSet<Key>) -> Result<(), Fault> {
        if calls.is_empty() {
            return Ok(());
        }
        let (chats, ids): (Vec<_>, Vec<_>) = calls
            .into_iter()
            .map(|(chat, call)| (chat.to_string(), call.to_string()))
            .unzip();
        let found = run!(self.database, connection => {
            Ok(connection.query(CANCELLED_OF, &[&chats, &ids]).await?)
        })?;
        self.tell_cancelled(&found)
    }
}
