//! Retention: outcomes and ids that are too old or too many go.
//!
//! Ages are those of the clock of the store. Every statement goes along an index that holds only the rows in question. Rows go in
//! small transactions, so that no call waits for a sweep.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use super::core::Core;
use super::fault::Fault;
use super::readers::Readers;
use super::row::{CallRow, select_calls};
use super::shares::shares;
use super::writer::Writer;
use crate::{CallState, Kept, Limits, Swept};

/// How many rows go in one transaction.
const ROWS: i64 = 256;

/// The usage of each chat, by its number and below the name of its token.
type Usage = BTreeMap<String, BTreeMap<i64, u64>>;

/// Forgets what is too old or too many.
pub(super) fn sweep(
    writer: &Arc<Writer>,
    readers: &Readers,
    limits: &Limits,
) -> Result<Swept, Fault> {
    let mut swept = Swept::default();
    let milliseconds =
        |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let (touched, now) = writer.alone(Core::touched)?;
    let (keep, tombstone) = (milliseconds(limits.keep), milliseconds(limits.tombstone));
    for (chat, tick) in touched {
        while let (rows @ 1.., more) =
            writer.alone(|core| core.drop_outcomes(chat, limits.keep_per_chat, keep))?
        {
            swept.outcomes += rows;
            if !more {
                break;
            }
        }
        // The last of its outcomes is old enough by now.
        if now.saturating_sub(tick) > keep {
            writer.alone(|core| {
                if core.touched.get(&chat) == Some(&tick) {
                    core.touched.remove(&chat);
                }
            });
        }
    }
    while let rows @ 1.. = writer.alone(|core| core.drop_ids(tombstone))? {
        swept.ids += rows;
    }
    let held = readers.read(|connection| usage(connection, HELD))?;
    for (chat, excess) in excess(&held, limits.outcome_bytes) {
        swept.outcomes += writer.alone(|core| core.drop_bytes(chat, excess))?;
    }
    let gone: u64 =
        readers.read(|connection| Ok(connection.query_row(GONE_COUNT, [], |row| row.get(0))?))?;
    if gone > limits.ids {
        let gone = readers.read(|connection| usage(connection, GONE))?;
        for (chat, mut excess) in excess(&gone, limits.ids) {
            while let rows @ 1.. = writer.alone(|core| core.drop_ids_of(chat, excess))? {
                swept.ids += rows;
                excess = excess.saturating_sub(rows);
            }
        }
    }
    match swept.ids {
        0 => writer.alone(|core| core.transact(|core| Ok(core.clock.save(&core.connection)?)))?,
        // The witness must not name calls that were forgotten on purpose.
        1.. => writer.alone(Core::empty_log)?,
    }
    swept.kept = readers.read(kept)?;
    Ok(swept)
}

fn kept(connection: &Connection) -> Result<Kept, Fault> {
    const OUTCOMES: &str = "SELECT count(*), coalesce(sum(held), 0) FROM calls INDEXED BY calls_held WHERE held IS NOT NULL";
    let ids = connection.query_row(GONE_COUNT, [], |row| row.get(0))?;
    Ok(connection.query_row(OUTCOMES, [], |row| {
        Ok(Kept {
            outcomes: row.get(0)?,
            bytes: row.get(1)?,
            ids,
        })
    })?)
}

const HELD: &str = "SELECT h.owner, c.chat, c.size FROM (SELECT chat, sum(held) AS size FROM calls INDEXED BY calls_held \
     WHERE held IS NOT NULL GROUP BY chat) c JOIN chats h ON h.no = c.chat";
const GONE: &str = "SELECT h.owner, c.chat, c.size FROM (SELECT chat, count(*) AS size FROM calls INDEXED BY calls_gone \
     WHERE held IS NULL GROUP BY chat) c JOIN chats h ON h.no = c.chat";
const GONE_COUNT: &str = "SELECT (SELECT count(*) FROM calls) - (SELECT count(*) FROM calls INDEXED BY calls_held WHERE held IS NOT NULL)";

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

/// Returns by how much each chat is over its share of this room.
fn excess(usage: &Usage, room: u64) -> Vec<(i64, u64)> {
    let owners: Vec<u64> = usage.values().map(|chats| chats.values().sum()).collect();
    if owners.iter().sum::<u64>() <= room {
        return Vec::new();
    }
    // A quarter more goes than must, so that not every call from here on makes another go.
    let mut over = Vec::new();
    for (chats, share) in usage.values().zip(shares(&owners, room / 4 * 3)) {
        let sizes: Vec<u64> = chats.values().copied().collect();
        let shares = shares(&sizes, share);
        let chats = chats
            .iter()
            .zip(shares)
            .map(|((chat, size), share)| (*chat, size.saturating_sub(share)));
        over.extend(chats.filter(|(_, over)| *over > 0));
    }
    over
}

impl Core {
    /// Returns the chats to look at, with when a call of them last ended, and the time. After a start these are all.
    fn touched(&mut self) -> Result<(HashMap<i64, i64>, i64), Fault> {
        const ALL: &str =
            "SELECT DISTINCT chat FROM calls INDEXED BY calls_held WHERE held IS NOT NULL";
        let now = self.clock.now();
        if !std::mem::replace(&mut self.has_swept, true) {
            let mut all = self.connection.prepare(ALL)?;
            for chat in all.query_map([], |row| row.get(0))? {
                self.touched.entry(chat?).or_insert(now);
            }
        }
        Ok((self.touched.clone(), now))
    }

    /// Drops outcomes of a chat that are too old, and not among its last. Returns how many, and whether there may be more.
    fn drop_outcomes(&mut self, chat: i64, last: u64, keep: i64) -> Result<(u64, bool), Fault> {
        const OLD: &str = select_calls!(
            "WHERE c.seq IN (SELECT seq FROM calls INDEXED BY calls_held WHERE chat = ?1 AND held IS NOT NULL AND held > 0 \
             ORDER BY seq DESC LIMIT -1 OFFSET ?2) AND c.tick < ?3 ORDER BY c.seq LIMIT ?4"
        );
        let before = self.clock.now().saturating_sub(keep);
        let last = i64::try_from(last).unwrap_or(i64::MAX);
        let rows = self.let_go(OLD, params![chat, last, before, ROWS])?;
        Ok((rows, rows == ROWS.unsigned_abs()))
    }

    /// Drops the oldest outcomes of a chat until so many bytes are gone.
    fn drop_bytes(&mut self, chat: i64, bytes: u64) -> Result<u64, Fault> {
        const OLDEST: &str = select_calls!(
            "WHERE c.seq IN (SELECT seq FROM (SELECT seq, sum(held) OVER (ORDER BY seq) - held AS before \
             FROM calls INDEXED BY calls_held WHERE chat = ?1 AND held IS NOT NULL AND held > 0) WHERE before < ?2)"
        );
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.let_go(OLDEST, params![chat, bytes])
    }

    fn let_go(&mut self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<u64, Fault> {
        self.transact(|core| {
            let mut rows = core.rows(sql, values)?;
            let now = core.clock.now();
            for row in &mut rows {
                row.let_go(now);
                row.write(&core.connection, false)?;
            }
            Ok(rows.len() as u64)
        })
    }

    /// Forgets ids whose time is over.
    fn drop_ids(&mut self, tombstone: i64) -> Result<u64, Fault> {
        const OLD: &str =
            select_calls!("WHERE c.held IS NULL AND c.tick < ?1 ORDER BY c.tick LIMIT ?2");
        let before = self.clock.now().saturating_sub(tombstone);
        self.forget(OLD, params![before, ROWS])
    }

    /// Forgets the oldest ids of a chat, at most so many.
    fn drop_ids_of(&mut self, chat: i64, most: u64) -> Result<u64, Fault> {
        const OLDEST: &str =
            select_calls!("WHERE c.chat = ?1 AND c.held IS NULL ORDER BY c.seq LIMIT ?2");
        let most = ROWS.min(i64::try_from(most).unwrap_or(ROWS));
        self.forget(OLDEST, params![chat, most])
    }

    /// Forgets these calls, and chats of which nothing else is remembered.
    fn forget(&mut self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<u64, Fault> {
        self.transact(|core| {
            let rows = core.rows(sql, values)?;
            const EMPTY: &str = "DELETE FROM chats WHERE no = ?1 AND NOT EXISTS (SELECT 1 FROM calls WHERE chat = ?1)";
            let mut empty = core.connection.prepare_cached(EMPTY)?;
            for row in &rows {
                core.remove(row)?;
            }
            for chat in rows.iter().map(|row| row.chat).collect::<BTreeSet<_>>() {
                empty.execute([chat])?;
            }
            Ok(rows.len() as u64)
        })
    }

    /// Returns the rows of a query that are sound: a row that is damaged is not as old as it says, and is never forgotten.
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
