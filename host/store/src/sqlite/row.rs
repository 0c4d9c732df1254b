//! The row of a call, with its checksum.

use std::collections::BTreeSet;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use toolhost_state::id::CallId;

use super::checksum::checksum;
use super::clock::Moment;
use super::key::Key;
use crate::values::call::held;
use crate::{Call, CallState, EndedCall};

/// The query for rows that [`CallRow::read`] can read: the columns of calls and the names of their chats. The argument is the rest of
/// the query.
macro_rules! select_calls {
    ($rest:literal) => {
        concat!(
            "SELECT c.seq, c.chat, c.call, c.key, c.principal, c.tool, c.tools, c.state, c.cancelled, c.digest, c.began, c.ended, ",
            "c.tick, c.held, c.gone, c.sum, c.arguments, c.outcome, h.name FROM calls c LEFT JOIN chats h ON h.no = c.chat ",
            $rest
        )
    };
}
pub(super) use select_calls;

/// A row of the table `calls`.
#[derive(Clone, Debug)]
pub(super) struct CallRow {
    pub(super) seq: i64,
    pub(super) chat: i64,
    pub(super) call: String,
    pub(super) key: Key,
    pub(super) principal: String,
    pub(super) tool: String,
    /// The tools of a tombstone as JSON; `None`: all.
    pub(super) tools: Option<String>,
    pub(super) state: CallState,
    pub(super) cancelled: bool,
    pub(super) digest: [u8; 32],
    pub(super) began: i64,
    pub(super) ended: Option<i64>,
    /// When it last changed, on the clock of retention.
    pub(super) tick: i64,
    /// The bytes that its outcome counts; 0 without an outcome.
    pub(super) held: i64,
    /// When its outcome was dropped, on the clock of retention; `None` while the call runs or its outcome is kept.
    pub(super) gone: Option<i64>,
    pub(super) arguments: Option<String>,
    /// A checksum of the outcome, followed by the outcome. The checksum of the row does not cover it, so lists need not read it.
    pub(super) outcome: Option<Vec<u8>>,
    /// The name of its chat.
    pub(super) name: Option<String>,
    is_sound: bool,
    /// The stored value of `gone`; `None` for a row that is not stored.
    stored: Option<Option<i64>>,
}

/// Returns whether the store has a call with this key.
pub(super) fn is_known(connection: &Connection, key: &Key) -> rusqlite::Result<bool> {
    let mut known = connection.prepare_cached("SELECT 1 FROM calls WHERE key = ?1")?;
    Ok(known.query_row([key], |_| Ok(())).optional()?.is_some())
}

/// Returns the number that stands for a state in the table.
pub(super) fn state_number(state: CallState) -> i64 {
    state.number().into()
}

fn state_of(column: usize, number: i64) -> rusqlite::Result<CallState> {
    let state = CallState::from_number(number);
    state.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, number))
}

impl CallRow {
    /// Makes the row of a new call.
    pub(super) fn new(seq: i64, chat: i64, call: &str, key: Key) -> Self {
        Self {
            seq,
            chat,
            call: call.to_owned(),
            key,
            principal: String::new(),
            tool: String::new(),
            tools: None,
            state: CallState::Unknown,
            cancelled: false,
            digest: [0; 32],
            began: super::clock::wall(),
            ended: None,
            tick: 0,
            held: 0,
            gone: None,
            arguments: None,
            outcome: None,
            name: None,
            is_sound: true,
            stored: None,
        }
    }

    /// Reads a row of [`select_calls`].
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut read = Self {
            seq: row.get(0)?,
            chat: row.get(1)?,
            call: row.get(2)?,
            key: row.get(3)?,
            principal: row.get(4)?,
            tool: row.get(5)?,
            tools: row.get(6)?,
            state: state_of(7, row.get(7)?)?,
            cancelled: row.get(8)?,
            digest: row.get(9)?,
            began: row.get(10)?,
            ended: row.get(11)?,
            tick: row.get(12)?,
            held: row.get(13)?,
            gone: row.get(14)?,
            arguments: row.get(16)?,
            outcome: row.get(17)?,
            name: row.get(18)?,
            is_sound: false,
            stored: Some(row.get(14)?),
        };
        read.is_sound = row.get::<_, i64>(15)? == read.sum();
        Ok(read)
    }

    /// Returns the row with this number.
    pub(super) fn find(connection: &Connection, seq: i64) -> rusqlite::Result<Option<Self>> {
        let mut one = connection.prepare_cached(select_calls!("WHERE c.seq = ?1"))?;
        one.query_row([seq], Self::read).optional()
    }

    /// Returns whether the row matches its checksum.
    pub(super) fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// Gives the row the end of its call.
    pub(super) fn end(&mut self, ended: &EndedCall, now: Moment) {
        self.state = ended.state;
        self.cancelled |= ended.cancelled;
        (self.ended, self.tick) = (Some(now.wall), now.tick);
        self.set_outcome(&ended.outcome);
    }

    /// Sets the outcome.
    fn set_outcome(&mut self, outcome: &str) {
        let sum = checksum(&[outcome.as_bytes()]).to_le_bytes();
        self.outcome = Some([&sum, outcome.as_bytes()].concat());
        let held = held(self.arguments.as_deref(), outcome);
        self.held = i64::try_from(held).unwrap_or(i64::MAX);
        self.gone = None;
    }

    /// Returns the row for insertion into another store, with its last change set to this time.
    pub(super) fn for_other_store(mut self, now: i64) -> Self {
        (self.tick, self.gone, self.stored) = (now, self.gone.map(|_| now), None);
        self
    }

    /// Drops the outcome and the arguments, so that only the id is remembered.
    pub(super) fn drop_outcome(&mut self, tick: i64) {
        (self.held, self.outcome, self.arguments) = (0, None, None);
        (self.tick, self.gone) = (tick, Some(tick));
    }

    /// Returns the outcome; `None` if it was dropped or does not match its checksum.
    pub(super) fn outcome(&self) -> Option<String> {
        let (sum, outcome) = self.outcome.as_ref()?.split_first_chunk::<8>()?;
        let is_sound = i64::from_le_bytes(*sum) == checksum(&[outcome]);
        is_sound
            .then(|| String::from_utf8(outcome.to_vec()).ok())
            .flatten()
    }

    /// Returns the tools of a tombstone; `None`: all.
    pub(super) fn tools(&self) -> rusqlite::Result<Option<BTreeSet<String>>> {
        let json = self
            .tools
            .as_ref()
            .map(|json| serde_json::from_str(json))
            .transpose();
        json.map_err(|error| rusqlite::Error::FromSqlConversionFailure(6, Type::Text, error.into()))
    }

    /// Converts the row into a call.
    pub(super) fn into_call(self) -> rusqlite::Result<Call> {
        let time = |at: i64| u64::try_from(at).unwrap_or_default();
        Ok(Call {
            chat: self.name.as_ref().and_then(|name| name.parse().ok()),
            call: self
                .name
                .as_ref()
                .and_then(|_| CallId::recorded(&self.call).ok()),
            number: self.seq,
            tools: self.tools()?,
            outcome: self.outcome(),
            tool: self.tool,
            principal: self.principal,
            state: self.state,
            cancelled: self.cancelled,
            began_ms: time(self.began),
            ended_ms: self.ended.map(time),
            arguments: self.arguments,
            digest: self.digest,
            is_elsewhere: false,
        })
    }

    /// Inserts a new row, or updates the row that this one was read from. Returns `false` if a new row was not inserted because its
    /// number or its name is taken.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<bool> {
        const INSERT: &str = "INSERT INTO calls VALUES \
             (?1, ?15, ?16, ?17, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?18, ?12, ?13, ?14) ON CONFLICT DO NOTHING";
        // The columns of indexes are left out, because SQLite would write the page of the index again even if the value is the same.
        const UPDATE: &str = "UPDATE calls SET principal = ?2, tool = ?3, tools = ?4, state = ?5, cancelled = ?6, digest = ?7, \
             began = ?8, ended = ?9, tick = ?10, held = ?11, sum = ?12, arguments = ?13, outcome = ?14 WHERE seq = ?1";
        const MOVE: &str = "UPDATE calls SET gone = ?2 WHERE seq = ?1";
        let sql = match self.stored {
            None => INSERT,
            Some(_) => UPDATE,
        };
        let mut statement = connection.prepare_cached(sql)?;
        let (state, sum) = (state_number(self.state), self.sum());
        let values: [&dyn ToSql; 14] = [
            &self.seq,
            &self.principal,
            &self.tool,
            &self.tools,
            &state,
            &self.cancelled,
            &self.digest,
            &self.began,
            &self.ended,
            &self.tick,
            &self.held,
            &sum,
            &self.arguments,
            &self.outcome,
        ];
        for (at, value) in values.into_iter().enumerate() {
            statement.raw_bind_parameter(at + 1, value)?;
        }
        if self.stored.is_none() {
            let values: [&dyn ToSql; 4] = [&self.chat, &self.call, &self.key, &self.gone];
            for (at, value) in values.into_iter().enumerate() {
                statement.raw_bind_parameter(at + 15, value)?;
            }
        }
        let changed = statement.raw_execute()?;
        if self.stored.is_some_and(|stored| stored != self.gone) {
            connection
                .prepare_cached(MOVE)?
                .execute(params![self.seq, self.gone])?;
        }
        Ok(changed > 0)
    }

    /// Returns the checksum of the columns that decide whether the call may run, and which answer a repeat gets.
    fn sum(&self) -> i64 {
        let numbers = [
            self.seq,
            self.chat,
            state_number(self.state),
            i64::from(self.cancelled),
            self.tick,
            self.held,
            self.gone.unwrap_or(-1),
            i64::from(self.tools.is_some()),
        ];
        checksum(&[
            numbers.map(i64::to_le_bytes).as_flattened(),
            &self.key,
            &self.digest,
            self.tool.as_bytes(),
            self.tools.as_deref().unwrap_or_default().as_bytes(),
        ])
    }
}
