//! Retention: dropping outcomes and ids that are too old or too many. Ages are measured by the clock of the database. Each host looks
//! at the chats of its own calls, in small transactions.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use deadpool_postgres::Object;
use toolhost_state::id::ChatId;
use toolhost_store::{Kept, Limits, Swept, excess};

use crate::Shared;
use crate::call_row::{time, to_time};
use crate::database::{Values, of_host, run};
use crate::error::Fault;

/// How many rows one statement drops.
const ROWS: i64 = 1_000;

/// The usage of each chat, by the name of its token and then by the chat.
type Usage = BTreeMap<String, BTreeMap<String, u64>>;

/// The chats that the next sweep looks at.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Those in which a call has ended here since the last sweep, and those that have more outcomes than are kept whatever their age;
    /// `None`: all chats.
    chats: Option<HashSet<ChatId>>,
    /// The limits of the last sweep.
    limits: Option<(Duration, u64)>,
}

impl Touched {
    pub(crate) fn add(&mut self, chat: &ChatId) {
        if let Some(chats) = &mut self.chats {
            chats.insert(chat.clone());
        }
    }

    /// Returns the chats for a sweep with these limits.
    fn take(&mut self, limits: &Limits) -> Option<HashSet<ChatId>> {
        let chats = self.chats.replace(HashSet::new());
        let limits = Some((limits.keep, limits.keep_per_chat));
        let is_same = std::mem::replace(&mut self.limits, limits) == limits;
        chats.filter(|_| is_same)
    }
}

impl Shared {
    /// Drops outcomes and ids that are too old or too many.
    pub(crate) async fn sweep(&self, limits: &Limits) -> Result<Swept, Fault> {
        let mut swept = Swept::default();
        let touched = self.touched.lock().take(limits);
        if let Err(fault) = self.sweep_chats(touched, limits, &mut swept).await {
            // The next sweep looks at all chats.
            *self.touched.lock() = Touched::default();
            return Err(fault);
        }
        self.forget_hosts().await?;
        Ok(swept)
    }

    async fn sweep_chats(
        &self,
        touched: Option<HashSet<ChatId>>,
        limits: &Limits,
        swept: &mut Swept,
    ) -> Result<(), Fault> {
        let (keep, tombstone) = (limits.keep.as_secs_f64(), limits.tombstone.as_secs_f64());
        let last = to_time(limits.keep_per_chat);
        let chats = match touched {
            Some(chats) => chats.into_iter().map(|chat| chat.to_string()).collect(),
            None => run!(self.database, connection => chats_with_outcomes(connection).await)?,
        };
        for chat in chats {
            swept.outcomes += self.drop_old(&chat, last, keep).await?;
            // Those that were too young are old some day.
            if run!(self.database, connection => has_more(connection, &chat, last).await)?
                && let Ok(chat) = chat.parse()
            {
                self.touched.lock().add(&chat);
            }
        }
        swept.ids += self.drop_ids(tombstone).await?;
        swept.kept = run!(self.database, connection => kept(connection).await)?;
        if swept.kept.bytes > limits.outcome_bytes {
            let usage = run!(self.database, connection => bytes_of_chats(connection).await)?;
            for (chat, over) in excess(&usage, limits.outcome_bytes) {
                swept.outcomes += self.drop_over(DROP_BYTES, &chat, over).await?;
            }
            swept.kept = run!(self.database, connection => kept(connection).await)?;
        }
        if swept.kept.ids > limits.ids {
            let usage = run!(self.database, connection => ids_of_chats(connection).await)?;
            for (chat, over) in excess(&usage, limits.ids) {
                swept.ids += self.drop_over(DROP_IDS, &chat, over).await?;
            }
            swept.kept = run!(self.database, connection => kept(connection).await)?;
        }
        Ok(())
    }

    /// Drops outcomes of a chat that are older than `keep` seconds and not among its `last` newest. Returns how many.
    async fn drop_old(&self, chat: &str, last: i64, keep: f64) -> Result<u64, Fault> {
        const DROP: &str = "UPDATE toolhost.calls SET outcome = NULL, arguments = NULL, held = 0, gone = clock_timestamp(), \
                 touched = clock_timestamp() \
             WHERE (chat, call) IN (SELECT chat, call FROM (SELECT chat, call, state, touched FROM toolhost.calls WHERE chat = $2 \
                 AND gone IS NULL AND held > 0 ORDER BY number DESC OFFSET $3) old WHERE state <> 0 \
                 AND touched <= clock_timestamp() - make_interval(secs => $4) LIMIT $5) AND state <> 0 AND toolhost.has_lease($1)";
        self.until_done(DROP, &[&chat, &last, &keep, &ROWS]).await
    }

    /// Forgets ids whose outcome was dropped longer ago than this, in seconds, and chats without calls. Returns how many ids. A chat that
    /// became known lately may be about to get its first call at the host that is its home.
    async fn drop_ids(&self, tombstone: f64) -> Result<u64, Fault> {
        const DROP: &str = "DELETE FROM toolhost.calls WHERE (chat, call) IN (SELECT chat, call FROM toolhost.calls WHERE gone IS NOT NULL \
             AND gone <= clock_timestamp() - make_interval(secs => $2) ORDER BY gone LIMIT $3) AND gone IS NOT NULL AND toolhost.has_lease($1)";
        const EMPTY: &str = "DELETE FROM toolhost.chats h WHERE toolhost.has_lease($1) AND chat IN (SELECT chat FROM toolhost.chats e \
             WHERE e.since < clock_timestamp() - make_interval(hours => 1) \
             AND NOT EXISTS (SELECT FROM toolhost.calls c WHERE c.chat = e.chat) LIMIT $2)";
        let dropped = self.until_done(DROP, &[&tombstone, &ROWS]).await?;
        if dropped > 0 {
            self.until_done(EMPTY, &[&ROWS]).await?;
        }
        Ok(dropped)
    }

    /// Drops the oldest rows or outcomes of a chat, until it has this much less.
    async fn drop_over(
        &self,
        statement: &'static str,
        chat: &str,
        over: u64,
    ) -> Result<u64, Fault> {
        let (host, over) = (self.lease.host(), to_time(over));
        run!(self.database, connection => Ok(connection.execute(statement, &[&host, &chat, &over]).await?))
    }

    /// Repeats a statement that changes at most [`ROWS`] rows until it changes fewer. `$1` is this host. Returns how many it changed.
    async fn until_done(&self, statement: &'static str, values: &Values<'_>) -> Result<u64, Fault> {
        let host = self.lease.host();
        let values = of_host(&host, values);
        let mut changed = 0;
        loop {
            let rows = run!(self.database, connection => {
                let statement = connection.prepare_cached(statement).await?;
                Ok(connection.execute(&statement, &values).await?)
            })?;
            changed += rows;
            if rows < ROWS.unsigned_abs() {
                return Ok(changed);
            }
        }
    }
}

/// Drops the oldest outcomes of a chat that hold this many bytes together.
const DROP_BYTES: &str = "UPDATE toolhost.calls SET outcome = NULL, arguments = NULL, held = 0, gone = clock_timestamp(), touched = clock_timestamp() \
     WHERE (chat, call) IN (SELECT chat, call FROM (SELECT chat, call, sum(held) OVER (ORDER BY number) - held AS before \
         FROM toolhost.calls WHERE chat = $2 AND gone IS NULL AND held > 0 AND state <> 0) old WHERE before < $3::bigint) \
     AND state <> 0 AND toolhost.has_lease($1)";

/// Forgets this many of the oldest ids of a chat.
const DROP_IDS: &str = "DELETE FROM toolhost.calls WHERE (chat, call) IN (SELECT chat, call FROM toolhost.calls WHERE chat = $2 AND gone IS NOT NULL \
         ORDER BY gone, number LIMIT $3) AND gone IS NOT NULL AND toolhost.has_lease($1)";

async fn chats_with_outcomes(connection: &Object) -> Result<Vec<String>, Fault> {
    const ALL: &str = "SELECT chat FROM toolhost.calls WHERE gone IS NULL GROUP BY chat";
    let rows = connection.query(ALL, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<_, _>>()?)
}

/// Returns whether a chat has more outcomes than are kept whatever their age.
async fn has_more(connection: &Object, chat: &str, last: i64) -> Result<bool, Fault> {
    const MORE: &str = "SELECT EXISTS (SELECT FROM toolhost.calls WHERE chat = $1 AND gone IS NULL AND held > 0 \
         ORDER BY number DESC OFFSET $2)";
    let more = connection.prepare_cached(MORE).await?;
    Ok(connection
        .query_one(&more, &[&chat, &last])
        .await?
        .try_get(0)?)
}

async fn kept(connection: &Object) -> Result<Kept, Fault> {
    const ALL: &str = "SELECT count(*) FILTER (WHERE gone IS NULL), coalesce(sum(held), 0)::bigint, \
         count(*) FILTER (WHERE gone IS NOT NULL) FROM toolhost.calls";
    let row = connection.query_one(ALL, &[]).await?;
    Ok(Kept {
        outcomes: time(row.try_get(0)?),
        bytes: time(row.try_get(1)?),
        ids: time(row.try_get(2)?),
    })
}

async fn bytes_of_chats(connection: &Object) -> Result<Usage, Fault> {
    const HELD: &str = "SELECT h.owner, c.chat, sum(c.held)::bigint FROM toolhost.calls c JOIN toolhost.chats h ON h.chat = c.chat \
         WHERE c.gone IS NULL GROUP BY h.owner, c.chat";
    usage(connection, HELD).await
}

async fn ids_of_chats(connection: &Object) -> Result<Usage, Fault> {
    const GONE: &str = "SELECT h.owner, c.chat, count(*) FROM toolhost.calls c JOIN toolhost.chats h ON h.chat = c.chat \
         WHERE c.gone IS NOT NULL GROUP BY h.owner, c.chat";
    usage(connection, GONE).await
}

async fn usage(connection: &Object, sql: &str) -> Result<Usage, Fault> {
    let mut usage = Usage::new();
    for row in connection.query(sql, &[]).await? {
        let chats = usage.entry(row.try_get(0)?).or_default();
        chats.insert(row.try_get(1)?, time(row.try_get(2)?));
    }
    Ok(usage)
}
