//! The survey: reading all calls of the database into the filter of known calls.
//!
//! A call that the filter lacks may begin, so the survey reads both indexes that find calls. Unless they have the same calls, the database
//! is damaged, and there is no filter. The survey reads small pieces between commits, so that no call waits for it for long.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::core::Core;
use super::fault::Fault;
use super::known::Known;
use super::witness::{Key, key};
use super::{Shared, readers};

/// The calls of a piece.
const PIECE: usize = 512;

/// The calls of a piece that are added to the filter at a time.
const PART: usize = 64;

/// The least bytes of the file for each call.
const BYTES: u64 = 200;

/// The time until the next survey after calls were forgotten during one.
const PAUSE: Duration = Duration::from_secs(60);

/// The count and the sum of calls. They do not depend on the order of the calls.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum(u64, u128);

impl Sum {
    fn add(&mut self, key: &Key, number: i64) {
        let factor = u128::from(number.cast_unsigned()) << 1 | 1;
        self.0 += 1;
        self.1 = (self.1).wrapping_add(u128::from_le_bytes(*key).wrapping_mul(factor));
    }
}

/// The way in which a survey ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The filter is in use.
    Whole,
    /// Calls were forgotten meanwhile, so the indexes could not be compared.
    Changed,
    /// The store is being closed.
    Closed,
}

/// Makes a filter whenever one is asked for.
pub(super) fn survey_when_asked(shared: &Shared, asked: &Receiver<()>) {
    let mut next = asked.recv().ok();
    while next.is_some() {
        // Calls get as much time as the survey.
        let ended = survey(shared, &shared.known, std::thread::sleep);
        if !matches!(ended, Ok(End::Whole)) {
            shared.known.drop_filter();
        }
        next = match ended {
            Ok(End::Whole) => asked.recv().ok(),
            Ok(End::Changed) => match asked.recv_timeout(PAUSE) {
                Err(RecvTimeoutError::Disconnected) => None,
                Ok(()) | Err(RecvTimeoutError::Timeout) => Some(()),
            },
            Ok(End::Closed) => None,
            Err(fault) => {
                let path = shared.path.display();
                tracing::warn!(?fault, %path, "the ids of the store cannot be read into memory, so that each new call looks them up: `toolhost state check` lists all problems");
                None
            }
        };
    }
}

/// Reads all calls into a new filter, and uses it if both indexes have the same calls. `between` is called after each piece.
fn survey(shared: &Shared, known: &Known, mut between: impl FnMut(Duration)) -> Result<End, Fault> {
    let writer = &shared.writer;
    let (end, removed) = writer.between_commits(|core| {
        known.begin_filter(core.estimate()?);
        // A call that was staged before the filter began is not in it. Later ones are.
        if let Some(staging) = &core.staging {
            staging.lock().keys().for_each(|key| known.add(&key));
        }
        Ok::<_, Fault>((core.next, core.removed))
    })?;
    let mut survey = Survey {
        reader: readers::open(&shared.path)?,
        end,
        sums: <[Sum; 2]>::default(),
        keys: Vec::new(),
    };
    let (mut by_key, mut by_name) = (Some(Vec::new()), Some((i64::MIN, String::new())));
    while by_key.is_some() || by_name.is_some() {
        if known.is_closed() {
            return Ok(End::Closed);
        }
        let started = Instant::now();
        // No connection changes the database, or empties its log, while a piece is read.
        writer.between_commits(|_| {
            match &by_key {
                Some(after) => by_key = survey.read_keys(after)?,
                None => {
                    by_name = by_name
                        .take()
                        .map_or(Ok(None), |one| survey.read_names(&one))?
                }
            }
            Ok::<_, Fault>(())
        })?;
        // Each part takes the filter for some microseconds. Calls need it meanwhile.
        survey
            .keys
            .chunks(PART)
            .for_each(|keys| known.add_read(keys));
        survey.keys.clear();
        between(started.elapsed());
    }
    let [by_key, by_name] = &survey.sums;
    if writer.between_commits(|core| core.removed) != removed {
        return Ok(End::Changed);
    }
    if by_key != by_name {
        return Err(Fault::Torn("the indexes of calls contradict each other"));
    }
    known.use_filter();
    Ok(End::Whole)
}

impl Core {
    /// Returns how many calls the database has at most.
    fn estimate(&self) -> Result<u64, Fault> {
        let number = |sql| self.connection.query_row(sql, [], |row| row.get(0));
        let first: Option<i64> = number("SELECT min(seq) FROM calls")?;
        let bytes = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        let numbers = self.next.saturating_sub(first.unwrap_or(self.next));
        Ok(numbers.max(0).unsigned_abs().min(bytes / BYTES))
    }
}

/// A survey under way.
#[derive(Debug)]
struct Survey {
    reader: Connection,
    /// The first number that no call had when the survey began. Calls from it on may be in one index only when that is read.
    end: i64,
    /// The calls before `end` of each index.
    sums: [Sum; 2],
    /// The calls of a piece.
    keys: Vec<Key>,
}

impl Survey {
    /// Reads the next calls of the index of digests. Returns the position of the last one; `None` at the end.
    fn read_keys(&mut self, after: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        const NEXT: &str =
            "SELECT key, seq FROM calls INDEXED BY calls_key WHERE key > ?1 ORDER BY key LIMIT ?2";
        let mut next = self.reader.prepare_cached(NEXT)?;
        let mut rows = next.query(params![after, PIECE])?;
        let mut last = after.to_vec();
        while let Some(row) = rows.next()? {
            let (key, number): (Key, i64) = (row.get(0)?, row.get(1)?);
            require_order(last.as_slice() < key.as_slice())?;
            last = key.to_vec();
            if number < self.end {
                self.sums[0].add(&key, number);
            }
            self.keys.push(key);
        }
        Ok((self.keys.len() == PIECE).then_some(last))
    }

    /// Reads the next calls of the index of names. Returns the position of the last one; `None` at the end.
    fn read_names(&mut self, after: &(i64, String)) -> Result<Option<(i64, String)>, Fault> {
        const NEXT: &str = "SELECT chat, call, seq FROM calls INDEXED BY calls_name WHERE (chat, call) > (?1, ?2) \
             ORDER BY chat, call LIMIT ?3";
        const CHAT: &str = "SELECT name FROM chats WHERE no = ?1";
        let mut next = self.reader.prepare_cached(NEXT)?;
        let mut chats = self.reader.prepare_cached(CHAT)?;
        let mut rows = next.query(params![after.0, after.1, PIECE])?;
        let (mut last, mut chat) = (after.clone(), (0, String::new()));
        while let Some(row) = rows.next()? {
            let (no, call, number): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if no != chat.0 {
                chat = (no, chats.query_row([no], |row| row.get(0))?);
            }
            let key = match no {
                // The call was lost, and its digest is its name.
                0 => digest(&call)?,
                _ => key(&chat.1, &call),
            };
            let name = (no, call);
            require_order(last < name)?;
            last = name;
            if number < self.end {
                self.sums[1].add(&key, number);
            }
            self.keys.push(key);
        }
        Ok((self.keys.len() == PIECE).then_some(last))
    }
}

/// Fails if an index is not in its order: a survey of it might miss calls, or never end.
fn require_order(is_ordered: bool) -> Result<(), Fault> {
    match is_ordered {
        true => Ok(()),
        false => Err(Fault::Torn("an index of calls is not in its order")),
    }
}

/// Returns the digest that names a lost call.
fn digest(name: &str) -> Result<Key, Fault> {
    let number = u128::from_str_radix(name, 16).map(u128::to_be_bytes);
    number.map_err(|_| Fault::Torn("the name of a lost call is no digest"))
}

#[cfg(test)]
mod tests;
