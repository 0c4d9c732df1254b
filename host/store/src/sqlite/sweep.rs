//! Retention: dropping outcomes and ids that are too old or too many.
//!
//! Ages are measured by the clock of the store. Every statement uses an index that holds only the rows in question. Rows are dropped in
//! small transactions, so that no call waits for a sweep.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, Row, params};

use super::Sqlite;
use super::core::Core;
use super::fault::Fault;
use super::room::Room;
use super::row::{CallRow, select_calls};
use super::writer::Writer;
use crate::{CallState, Kept, Limits, Swept, excess};

/// How many rows one transaction drops.
const ROWS: i64 = 256;

/// The usage of each chat, by the name of its token and then by the number of the chat.
type Usage = BTreeMap<String, BTreeMap<i64, u64>>;

/// Drops outcomes and ids that are too old or too many.
pub(super) async fn sweep(store: &Sqlite, limits: &Limits) -> Result<Swept, Fault> {
    let (mut swept, writer) = (Swept::default(), &store.writer);
    let milliseconds =
        |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let (touched, now) = writer.alone(Core::touched).await?;
    let (keep, tombstone) = (milliseconds(limits.keep), milliseconds(limits.tombstone));
    let last = limits.keep_per_chat;
    for (chat, tick) in touched {
        loop {
            let dropping = writer.alone(move |core| core.drop_outcomes(chat, last, keep));
            let (rows, more) = dropping.await?;
            swept.outcomes += rows;
            if !more {
                break;
            }
        }
        // All outcomes of the chat were old enough, so the next sweep need not look at it.
        if now.saturating_sub(tick) > keep {
            let forgetting = writer.alone(move |core| {
                if core.touched.get(&chat) == Some(&tick) {
                    core.touched.remove(&chat);
                }
                Ok(())
            });
            forgetting.await?;
        }
    }
    swept.ids += drop_ids(writer, now.saturating_sub(tombstone), Unwanted::All).await?;
    let mut left = store.look(kept).await?;
    if left.bytes > limits.outcome_bytes {
        let bytes = store.look(bytes_of_chats).await?;
        for (chat, excess) in excess(&bytes, limits.outcome_bytes) {
            swept.outcomes += drop_bytes(writer, chat, excess).await?;
        }
        left = store.look(kept).await?;
    }
    if left.ids > limits.ids {
        let ids = store.look(ids_of_chats).await?;
        let over = excess(&ids, limits.ids).into_iter().collect();
        swept.ids += drop_ids(writer, i64::MAX, Unwanted::OfChats(over)).await?;
        left = store.look(kept).await?;
    }
    swept.kept = left;
    let finishing = writer.alone(|core| {
        // The disk may have had none before.
        core.room.iter().for_each(Room::renew);
        core.save_clock()
    });
    finishing.await?;
    Ok(swept)
}

fn kept(connection: &Connection) -> Result<Kept, Fault> {
    const ALL: &str = "SELECT count(*) FROM calls";
    const OUTCOMES: &str = "SELECT count(*), coalesce(sum(held), 0) FROM calls INDEXED BY calls_kept WHERE gone IS NULL";
    let all: u64 = connection.query_row(ALL, [], |row| row.get(0))?;
    let outcomes = connection.query_row(OUTCOMES, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (outcomes, bytes) = outcomes?;
    Ok(Kept {
        outcomes,
        bytes,
        ids: all.saturating_sub(outcomes),
    })
}

fn bytes_of_chats(connection: &Connection) -> Result<Usage, Fault> {
    const HELD: &str = "SELECT h.owner, c.chat, c.size FROM (SELECT chat, sum(held) AS size FROM calls INDEXED BY calls_kept \
         WHERE gone IS NULL GROUP BY chat) c JOIN chats h ON h.no = c.chat";
    usage(connection, HELD)
}

fn ids_of_chats(connection: &Connection) -> Result<Usage, Fault> {
    const GONE: &str = "SELECT h.owner, c.chat, c.size FROM (SELECT chat, count(*) AS size FROM calls INDEXED BY calls_gone \
         WHERE gone IS NOT NULL GROUP BY chat) c JOIN chats h ON h.no = c.chat";
    usage(connection, GONE)
}

fn usage(connection: &Connection, sql: &str) -> Result<Usage, Fault> {
    let mut usage = Usage::new();
    let mut rows = connection.prepare_cached(sql)?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        usage
            .entry(row.get(0)?)
            .or_default()
            .insert(row.get(1)?, row.get(2)?);
    }
    Ok(usage)
}

/// The ids to forget.
enum Unwanted {
    All,
    /// So many of each of these chats.
    OfChats(HashMap<i64, u64>),
}

impl Unwanted {
    /// Returns whether a call is among them, and counts it.
    fn take(&mut self, row: &CallRow) -> bool {
        match self {
            Self::All => true,
            Self::OfChats(left) => match left.get_mut(&row.chat) {
                Some(count @ 1..) => {
                    *count -= 1;
                    true
                }
                Some(0) | None => false,
            },
        }
    }
}

/// Forgets ids whose outcome was dropped at or before this time, the oldest first. Returns how many.
async fn drop_ids(writer: &Writer, before: i64, mut unwanted: Unwanted) -> Result<u64, Fault> {
    let (mut dropped, mut position) = (0, Some(FIRST));
    while let Some(after) = position {
        let dropping = writer.alone(move |core| {
            let (rows, position) = core.drop_ids(after, before, &mut unwanted)?;
            Ok((rows, position, unwanted))
        });
        let rows;
        (rows, position, unwanted) = dropping.await?;
        dropped += rows;
    }
    Ok(dropped)
}

/// Drops the oldest outcomes of a chat until at least this many bytes are free. Returns how many.
async fn drop_bytes(writer: &Writer, chat: i64, bytes: u64) -> Result<u64, Fault> {
    let (mut dropped, mut freed, mut position) = (0, 0, Some(i64::MIN));
    while let Some(after) = position.filter(|_| freed < bytes) {
        let wanted = bytes - freed;
        let (rows, more);
        (rows, more, position) = writer
            .alone(move |core| core.drop_bytes(chat, after, wanted))
            .await?;
        (dropped, freed) = (dropped + rows, freed + more);
    }
    Ok(dropped)
}

/// A position in the index of ids whose outcome was dropped: the time of that, the chat, and the number of the call.
type Position = (i64, i64, i64);

/// The position before all others.
const FIRST: Position = (i64::MIN, 0, 0);

impl Core {
    /// Returns the chats to sweep, each with the time at which a call of it last ended, and the current time. The first sweep after
    /// a start gets all chats with outcomes.
    fn touched(&mut self) -> Result<(HashMap<i64, i64>, i64), Fault> {
        const ALL: &str =
            "SELECT DISTINCT chat FROM calls INDEXED BY calls_kept WHERE gone IS NULL";
        let now = self.now.tick;
        if !std::mem::replace(&mut self.has_swept, true) {
            let mut all = self.connection.prepare(ALL)?;
            for chat in all.query_map([], |row| row.get(0))? {
                self.touched.entry(chat?).or_insert(now);
            }
        }
        Ok((self.touched.clone(), now))
    }

    /// Drops outcomes of a chat that are too old and not among its `last` newest. Returns how many, and whether there may be more.
    fn drop_outcomes(&mut self, chat: i64, last: u64, keep: i64) -> Result<(u64, bool), Fault> {
        const OLD: &str = select_calls!(
            "WHERE c.seq IN (SELECT seq FROM calls INDEXED BY calls_kept WHERE chat = ?1 AND gone IS NULL AND held > 0 \
             ORDER BY seq DESC LIMIT -1 OFFSET ?2) AND c.tick <= ?3 ORDER BY c.seq LIMIT ?4"
        );
        let before = self.now.tick.saturating_sub(keep);
        let last = i64::try_from(last).unwrap_or(i64::MAX);
        let rows = self.drop_selected(OLD, params![chat, last, before, ROWS])?;
        Ok((rows, rows == ROWS.unsigned_abs()))
    }

    /// Drops the next outcomes of a chat, the oldest first, until at least this many bytes are free. Returns how many outcomes, how many
    /// bytes, and the number of the last call that was looked at; `None` if there is no further one.
    fn drop_bytes(
        &mut self,
        chat: i64,
        after: i64,
        bytes: u64,
    ) -> Result<(u64, u64, Option<i64>), Fault> {
        const NEXT: &str = "SELECT seq FROM calls INDEXED BY calls_kept WHERE chat = ?1 AND gone IS NULL AND seq > ?2 ORDER BY seq LIMIT ?3";
        const ROWS_UP_TO: &str = select_calls!(
            "WHERE c.seq IN (SELECT seq FROM calls INDEXED BY calls_kept WHERE chat = ?1 AND gone IS NULL AND held > 0 \
             AND seq > ?2 AND seq <= ?3) ORDER BY c.seq"
        );
        self.transact(|core| {
            let mut next = core.connection.prepare_cached(NEXT)?;
            let numbers = next.query_map(params![chat, after, ROWS], |row| row.get(0))?;
            let last: Option<i64> = numbers.last().transpose()?;
            let Some(last) = last else {
                return Ok((0, 0, None));
            };
            let (now, mut dropped, mut freed) = (core.now.tick, 0, 0);
            for row in &mut core.rows(ROWS_UP_TO, params![chat, after, last])? {
                if freed >= bytes {
                    break;
                }
                freed += row.held.unsigned_abs();
                row.drop_outcome(now);
                row.write(&core.connection)?;
                dropped += 1;
            }
            Ok((dropped, freed, Some(last)))
        })
    }

    /// Drops the outcomes of the rows of a query. Returns how many.
    fn drop_selected(&mut self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<u64, Fault> {
        self.transact(|core| {
            let mut rows = core.rows(sql, values)?;
            let now = core.now.tick;
            for row in &mut rows {
                row.drop_outcome(now);
                row.write(&core.connection)?;
            }
            Ok(rows.len() as u64)
        })
    }

    /// Looks at the next ids whose outcome was dropped at or before this time, and forgets those that are unwanted. Also forgets chats
    /// without any call left. Returns how many ids were forgotten, and the position after the ids; `None` at the end.
    fn drop_ids(
        &mut self,
        after: Position,
        before: i64,
        unwanted: &mut Unwanted,
    ) -> Result<(u64, Option<Position>), Fault> {
        const NEXT: &str = select_calls!(
            "WHERE c.gone IS NOT NULL AND c.gone <= ?4 AND (c.gone, c.chat, c.seq) > (?1, ?2, ?3) \
             ORDER BY c.gone, c.chat, c.seq LIMIT ?5"
        );
        const EMPTY: &str =
            "DELETE FROM chats WHERE no = ?1 AND NOT EXISTS (SELECT 1 FROM calls WHERE chat = ?1)";
        self.transact(|core| {
            let values = params![after.0, after.1, after.2, before, ROWS];
            let rows = core.rows(NEXT, values)?;
            let last = rows.last();
            let last = last.map(|row| (row.gone.unwrap_or_default(), row.chat, row.seq));
            let (mut chats, mut dropped) = (BTreeSet::new(), 0);
            for row in rows.iter().filter(|row| unwanted.take(row)) {
                core.remove(row)?;
                chats.insert(row.chat);
                dropped += 1;
            }
            let mut empty = core.connection.prepare_cached(EMPTY)?;
            for chat in chats {
                empty.execute([chat])?;
            }
            Ok((dropped, last))
        })
    }

    /// Returns the rows of a query that are sound and do not run. A damaged row is never dropped, because its age may be wrong.
    fn rows(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<CallRow>, Fault> {
        let mut rows = self.connection.prepare_cached(sql)?;
        let rows = rows.query_map(values, |row: &Row<'_>| CallRow::read(row))?;
        let rows: Vec<_> = rows.collect::<rusqlite::Result<_>>()?;
        Ok(rows
            .into_iter()
            .filter(|row| row.is_sound() && row.state != CallState::Running)
            .collect())
    }
}
