//! Calls: the rule that one begins only if its id was not seen, and what happens to it afterwards.

use rusqlite::{Connection, OptionalExtension, params};
use toolhost_state::id::{CallId, ChatId};

use super::clock::Moment;
use super::core::{Core, Effect, Metrics};
use super::fault::Fault;
use super::key::{Key, key};
use super::row::{CallRow, select_calls};
use crate::{Begun, Call, CallState, CancelAnswer, Cancellation, EndedCall, NewCall};

/// Returns the row of a call; `None` if the id was not seen.
///
/// A bit that changed in one page of the file can hide a call from one index, and not from the other: a call is not there only if
/// both deny it.
///
/// # Errors
///
/// [`Fault::Torn`] if the two indexes, or the row, contradict each other.
pub(super) fn find(
    connection: &Connection,
    chat: &str,
    call: &str,
) -> Result<Option<CallRow>, Fault> {
    match find_now(connection, chat, call) {
        // Between the two statements, another connection may have changed the call. One transaction sees one state of it.
        Err(fault) if fault.is_damage() && connection.is_autocommit() => {
            find_now(&*connection.unchecked_transaction()?, chat, call)
        }
        found => found,
    }
}

/// Looks a call up as [`find`] does.
fn find_now(connection: &Connection, chat: &str, call: &str) -> Result<Option<CallRow>, Fault> {
    const NUMBERS: &str = "SELECT (SELECT seq FROM calls INDEXED BY calls_key WHERE key = ?1), \
         (SELECT seq FROM calls INDEXED BY calls_name WHERE chat = (SELECT no FROM chats WHERE name = ?2) AND call = ?3)";
    let key = key(chat, call);
    let mut numbers = connection.prepare_cached(NUMBERS)?;
    let numbers = numbers.query_row(params![key, chat, call], |row| {
        Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
    });
    let number = match numbers? {
        (None, None) => return Ok(None),
        (Some(one), Some(other)) if one == other => one,
        _ => return Err(Fault::Torn("the indexes of calls contradict each other")),
    };
    match CallRow::find(connection, number)? {
        Some(row) if row.is_sound() && row.key == key => Ok(Some(row)),
        _ => Err(Fault::Torn("a call is not the one that was written")),
    }
}

/// Returns a call; one of which nothing can be said is unknown.
pub(super) fn look_up(
    connection: &Connection,
    metrics: &Metrics,
    chat: &ChatId,
    call: &CallId,
) -> Result<Option<Call>, Fault> {
    match find(connection, chat.as_str(), call.as_str()) {
        Ok(row) => Ok(row.map(CallRow::into_call).transpose()?),
        Err(fault) if fault.is_damage() => {
            metrics.damage(&fault);
            unknown(chat, call).map(Some)
        }
        Err(fault) => Err(fault),
    }
}

/// Returns a call of which nothing can be said.
pub(super) fn unknown(chat: &ChatId, call: &CallId) -> Result<Call, Fault> {
    let mut row = CallRow::new(0, 0, call.as_str(), [0; 16]);
    row.name = Some(chat.to_string());
    Ok(row.into_call()?)
}

impl Core {
    /// Stores the beginning of a call unless its id was seen.
    pub(super) fn begin(&mut self, call: &NewCall) -> Result<Begun, Fault> {
        let now = self.now;
        let (chat, has_ended) = self.chat(&call.chat, &call.principal)?;
        let mut row = self.row(chat, call, now);
        row.state = CallState::Running;
        // Most calls are new. Both indexes are unique, so that a name which either of them knows is not stored again.
        if !row.write(&self.connection)? {
            let known = match find(&self.connection, call.chat.as_str(), call.call.as_str()) {
                Ok(known) => known,
                Err(fault) if fault.is_damage() => {
                    self.metrics.damage(&fault);
                    return Ok(Begun::Unknown);
                }
                Err(fault) => return Err(fault),
            };
            match known {
                Some(row) if row.state != CallState::Tombstone => {
                    return Ok(row.into_call()?.answer(&call.digest));
                }
                Some(row) if row.tools()?.is_none_or(|tools| tools.contains(&call.tool)) => {
                    return Ok(Begun::Cancelled);
                }
                // The fence is for other tools.
                Some(row) => self.remove(&row)?,
                None => {}
            }
            self.store(&row)?;
        }
        if let Some(refusal) = self.refusal {
            return Err(Fault::Io(refusal.into()));
        }
        if has_ended {
            self.reopen(chat)?;
        }
        self.note(Effect::Began {
            chat: call.chat.to_string(),
            key: row.key,
            number: row.seq,
        });
        Ok(Begun::New)
    }

    /// Stores that a call runs again whose outcome is unknown.
    pub(super) fn resume(&mut self, call: &NewCall) -> Result<Begun, Fault> {
        match find(&self.connection, call.chat.as_str(), call.call.as_str()) {
            Ok(Some(row)) => {
                let may_run = row.state == CallState::Unknown && !row.cancelled;
                if !may_run || row.tool.is_empty() || row.digest != call.digest {
                    return Ok(row.into_call()?.answer(&call.digest));
                }
                self.remove(&row)?;
            }
            Ok(None) => {}
            Err(fault) if fault.is_damage() => {
                self.metrics.damage(&fault);
                return Ok(Begun::Unknown);
            }
            Err(fault) => return Err(fault),
        }
        self.begin(call)
    }

    /// Stores that a chat is not ended any more.
    fn reopen(&self, chat: i64) -> Result<(), Fault> {
        const OPEN: &str = "UPDATE chats SET ended = NULL WHERE no = ?1";
        self.connection.prepare_cached(OPEN)?.execute([chat])?;
        Ok(())
    }

    /// Stores the row of a call that was found, or that is not known.
    fn store(&self, row: &CallRow) -> Result<(), Fault> {
        match row.write(&self.connection)? {
            true => Ok(()),
            false => Err(Fault::Torn("a call is known and not found")),
        }
    }

    /// Stores a row of another store.
    pub(super) fn copy(&self, row: CallRow) -> Result<(), Fault> {
        self.store(&row.for_other_store(self.now.tick))
    }

    /// Returns the row of a call. The row of one that began in this host is found by its number.
    fn known(&self, chat: &ChatId, call: &CallId) -> Result<Option<CallRow>, Fault> {
        let key = key(chat.as_str(), call.as_str());
        let Some(number) = self.open.get(&key) else {
            return find(&self.connection, chat.as_str(), call.as_str());
        };
        match CallRow::find(&self.connection, *number)? {
            Some(row) if row.is_sound() && row.key == key => Ok(Some(row)),
            _ => Err(Fault::Torn("a call is not the one that was written")),
        }
    }

    /// Stores the end of a call.
    pub(super) fn end(&mut self, ended: &EndedCall) -> Result<(), Fault> {
        let (chat, tick) = match self.end_new(ended)? {
            Some(row) => (row.chat, row.tick),
            None => self.end_known(ended)?,
        };
        self.note(Effect::Touched { chat, tick });
        Ok(())
    }

    /// Stores the end of a call whose beginning was not stored, because it only reads. Returns `None` if its name is known.
    fn end_new(&mut self, ended: &EndedCall) -> Result<Option<CallRow>, Fault> {
        let call = &ended.call;
        let key = key(call.chat.as_str(), call.call.as_str());
        if self.open.contains_key(&key) {
            return Ok(None);
        }
        let (chat, _) = self.chat(&call.chat, &call.principal)?;
        let mut row = self.row(chat, call, self.now);
        row.end(ended, self.now);
        Ok(row.write(&self.connection)?.then_some(row))
    }

    /// Stores the end of a call whose name is known.
    fn end_known(&mut self, ended: &EndedCall) -> Result<(i64, i64), Fault> {
        let call = &ended.call;
        let mut known = self.known(&call.chat, &call.call)?;
        if let Some(fence) = known.take_if(|row| row.state == CallState::Tombstone) {
            // The call ran, because the fence is for other tools or came after its beginning.
            self.remove(&fence)?;
        }
        let mut row = match known {
            Some(row) => row,
            None => {
                let (chat, _) = self.chat(&call.chat, &call.principal)?;
                self.row(chat, call, self.now)
            }
        };
        if row.state == CallState::Running {
            self.note_end(call.chat.to_string(), row.key);
        }
        row.end(ended, self.now);
        self.store(&row)?;
        Ok((row.chat, row.tick))
    }

    /// Forgets a call that began.
    pub(super) fn withdraw(&mut self, chat: &ChatId, call: &CallId) -> Result<(), Fault> {
        let known = self.known(chat, call)?;
        let Some(row) = known.filter(|row| row.state == CallState::Running) else {
            return Ok(());
        };
        if row.cancelled {
            // It is not to run later either.
            return self.fence_instead(row);
        }
        self.remove(&row)?;
        self.note_end(chat.to_string(), row.key);
        Ok(())
    }

    fn fence_instead(&mut self, mut row: CallRow) -> Result<(), Fault> {
        row.tools = serde_json::to_string(&[&row.tool]).ok();
        row.state = CallState::Tombstone;
        row.drop_outcome(self.now.tick);
        row.write(&self.connection)?;
        self.count_fences(row.chat, 1)?;
        self.note_end(row.name.unwrap_or_default(), row.key);
        Ok(())
    }

    /// Cancels a call.
    pub(super) fn cancel(&mut self, fence: &Cancellation) -> Result<CancelAnswer, Fault> {
        let may_use = |tool: &str| {
            fence
                .tools
                .as_ref()
                .is_none_or(|tools| tools.contains(tool))
        };
        let known = self.known(&fence.chat, &fence.call)?;
        let tools = |tools: &Option<_>| {
            tools
                .as_ref()
                .and_then(|tools| serde_json::to_string(tools).ok())
        };
        match known {
            None => {
                let (chat, _) = self.chat(&fence.chat, &fence.principal)?;
                const FENCES: &str = "SELECT fences FROM chats WHERE no = ?1";
                let count: i64 = {
                    let mut count = self.connection.prepare_cached(FENCES)?;
                    count.query_row([chat], |row| row.get(0))?
                };
                if u64::try_from(count).unwrap_or_default() >= fence.most {
                    return Ok(CancelAnswer::TooMany);
                }
                let name = (fence.chat.as_str(), fence.call.as_str());
                let mut row = self.new_row(chat, name.1, key(name.0, name.1));
                (row.state, row.cancelled) = (CallState::Tombstone, true);
                row.principal.clone_from(&fence.principal);
                row.tools = tools(&fence.tools);
                row.drop_outcome(self.now.tick);
                self.store(&row)?;
                self.count_fences(chat, 1)?;
                Ok(CancelAnswer::Tombstone(fence.tools.clone()))
            }
            Some(mut row) if row.state == CallState::Tombstone => {
                let all = match (row.tools()?, &fence.tools) {
                    (Some(mut one), Some(other)) => {
                        one.extend(other.iter().cloned());
                        Some(one)
                    }
                    _ => None,
                };
                let json = tools(&all);
                if json != row.tools {
                    row.tools = json;
                    row.drop_outcome(self.now.tick);
                    row.write(&self.connection)?;
                }
                Ok(CancelAnswer::Tombstone(all))
            }
            Some(row) if !may_use(&row.tool) => Ok(CancelAnswer::Foreign),
            Some(mut row) => {
                if !std::mem::replace(&mut row.cancelled, true) {
                    row.write(&self.connection)?;
                }
                Ok(CancelAnswer::Known(Box::new(row.into_call()?)))
            }
        }
    }

    /// Takes the calls over that ran when the last host ended. They run in this host until they get an end.
    pub(super) fn interrupt(&mut self) -> Result<Vec<Call>, Fault> {
        const RUNNING: &str = select_calls!(
            "WHERE c.seq IN (SELECT seq FROM calls INDEXED BY calls_running WHERE state = 0)"
        );
        let mut rows = Vec::new();
        let mut running = self.connection.prepare_cached(RUNNING)?;
        for row in running.query_map([], CallRow::read)? {
            rows.push(row?);
        }
        drop(running);
        // A row that is damaged is unknown without an end, and would take none.
        rows.retain(|row| row.is_sound() && !self.open.contains_key(&row.key));
        let calls = rows.into_iter().map(|row| {
            self.note(Effect::Began {
                chat: row.name.clone().unwrap_or_default(),
                key: row.key,
                number: row.seq,
            });
            Ok(row.into_call()?)
        });
        calls.collect()
    }

    /// Stores that a call was seen of which nothing else is known.
    pub(super) fn lose(&mut self, key: Key) -> Result<(), Fault> {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut row = self.new_row(0, &name, key);
        row.drop_outcome(self.now.tick);
        self.store(&row)
    }

    /// Makes the row of a call whose id was not seen.
    fn row(&mut self, chat: i64, call: &NewCall, now: Moment) -> CallRow {
        let key = key(call.chat.as_str(), call.call.as_str());
        let mut row = self.new_row(chat, call.call.as_str(), key);
        row.principal.clone_from(&call.principal);
        row.tool.clone_from(&call.tool);
        row.arguments.clone_from(&call.arguments);
        row.digest = call.digest;
        row.began = i64::try_from(call.began_ms).unwrap_or(i64::MAX);
        row.tick = now.tick;
        row
    }

    /// Returns the number of a chat, and whether the chat was ended. A chat that is not known is stored.
    pub(super) fn chat(&self, chat: &ChatId, owner: &str) -> Result<(i64, bool), Fault> {
        const FIND: &str = "SELECT no, ended IS NOT NULL FROM chats WHERE name = ?1";
        const INSERT: &str = "INSERT INTO chats (name, owner, fences) VALUES (?1, ?2, 0)";
        let mut find = self.connection.prepare_cached(FIND)?;
        let found = find.query_row([chat.as_str()], |row| Ok((row.get(0)?, row.get(1)?)));
        match found.optional()? {
            Some(found) => Ok(found),
            None => {
                self.connection
                    .prepare_cached(INSERT)?
                    .execute([chat.as_str(), owner])?;
                Ok((self.connection.last_insert_rowid(), false))
            }
        }
    }

    /// Forgets a call.
    pub(super) fn remove(&mut self, row: &CallRow) -> Result<(), Fault> {
        self.connection
            .prepare_cached("DELETE FROM calls WHERE seq = ?1")?
            .execute([row.seq])?;
        if row.state == CallState::Tombstone {
            self.count_fences(row.chat, -1)?;
        }
        Ok(())
    }

    /// Counts fences of a chat.
    pub(super) fn count_fences(&self, chat: i64, by: i64) -> Result<(), Fault> {
        const COUNT: &str = "UPDATE chats SET fences = max(fences + ?2, 0) WHERE no = ?1";
        self.connection
            .prepare_cached(COUNT)?
            .execute(params![chat, by])?;
        Ok(())
    }
}
