//! Calls: the rule that one begins only if its id was not seen, and what happens to it afterwards.

use rusqlite::{Connection, OptionalExtension, params};
use toolhost_state::id::{CallId, ChatId};

use super::core::{Core, Effect};
use super::fault::Fault;
use super::row::{CallRow, select_calls};
use super::witness::key;
use crate::{Begun, Call, CallState, EndedCall, Fence, Fenced, NewCall};

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
    const BY_KEY: &str = "SELECT seq FROM calls INDEXED BY calls_key WHERE key = ?1";
    const BY_NAME: &str = "SELECT seq FROM calls INDEXED BY calls_name WHERE chat = (SELECT no FROM chats WHERE name = ?1) AND call = ?2";
    let key = key(chat, call);
    let number = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    let by_key = connection
        .prepare_cached(BY_KEY)?
        .query_row([key], number)
        .optional()?;
    let by_name = connection
        .prepare_cached(BY_NAME)?
        .query_row([chat, call], number)
        .optional()?;
    let seq = match (by_key, by_name) {
        (None, None) => return Ok(None),
        (Some(one), Some(other)) if one == other => one,
        _ => return Err(Fault::Torn("the indexes of calls contradict each other")),
    };
    match CallRow::find(connection, seq)? {
        Some(row) if row.is_sound() && row.key == key => Ok(Some(row)),
        _ => Err(Fault::Torn("a call is not the one that was written")),
    }
}

/// Returns a call; one of which nothing can be said is unknown.
pub(super) fn look_up(
    connection: &Connection,
    chat: &ChatId,
    call: &CallId,
) -> Result<Option<Call>, Fault> {
    match find(connection, chat.as_str(), call.as_str()) {
        Ok(row) => Ok(row.map(CallRow::into_call).transpose()?),
        Err(fault) if fault.is_damage() => {
            let mut row = CallRow::new(0, 0, call.as_str(), [0; 16]);
            row.name = Some(chat.to_string());
            Ok(Some(row.into_call()?))
        }
        Err(fault) => Err(fault),
    }
}

impl Core {
    /// Stores the beginning of a call unless its id was seen.
    pub(super) fn begin(&mut self, call: &NewCall) -> Result<Begun, Fault> {
        let known = match find(&self.connection, call.chat.as_str(), call.call.as_str()) {
            Ok(known) => known,
            Err(fault) if fault.is_damage() => {
                self.metrics.damage(&fault);
                return Ok(Begun::Unknown);
            }
            Err(fault) => return Err(fault),
        };
        if let Some(row) = known {
            if row.state != CallState::Fenced {
                return answer(row, &call.digest);
            }
            if row.tools()?.is_none_or(|tools| tools.contains(&call.tool)) {
                return Ok(Begun::Cancelled);
            }
            // The fence is for other tools.
            self.remove(&row)?;
        }
        let mut row = self.row(call)?;
        row.state = CallState::Running;
        row.held = Some(0);
        row.write(&self.connection, true)?;
        self.note(Effect::Began {
            chat: call.chat.to_string(),
            key: row.key,
        });
        Ok(Begun::New)
    }

    /// Stores the end of a call.
    pub(super) fn end(&mut self, ended: &EndedCall) -> Result<(), Fault> {
        let EndedCall {
            call,
            state,
            cancelled,
            outcome,
        } = ended;
        let mut known = find(&self.connection, call.chat.as_str(), call.call.as_str())?;
        if let Some(fence) = known.take_if(|row| row.state == CallState::Fenced) {
            // The call ran, because the fence is for other tools or came after its beginning.
            self.remove(&fence)?;
        }
        let is_new = known.is_none();
        let mut row = match known {
            Some(row) => row,
            None => self.row(call)?,
        };
        if row.state == CallState::Running {
            let chat = call.chat.to_string();
            self.note(Effect::Ended { chat });
        }
        row.state = *state;
        row.cancelled |= *cancelled;
        row.ended = Some(super::clock::wall());
        row.tick = self.clock.now();
        row.hold(outcome);
        row.write(&self.connection, is_new)?;
        let (chat, tick) = (row.chat, row.tick);
        self.note(Effect::Touched { chat, tick });
        Ok(())
    }

    /// Forgets a call that began.
    pub(super) fn withdraw(&mut self, chat: &ChatId, call: &CallId) -> Result<(), Fault> {
        let known = find(&self.connection, chat.as_str(), call.as_str())?;
        let Some(row) = known.filter(|row| row.state == CallState::Running) else {
            return Ok(());
        };
        if row.cancelled {
            // It is not to run later either.
            return self.fence_instead(row);
        }
        self.remove(&row)?;
        let chat = chat.to_string();
        self.note(Effect::Ended { chat });
        self.note(Effect::Withdrawn { key: row.key });
        Ok(())
    }

    fn fence_instead(&mut self, mut row: CallRow) -> Result<(), Fault> {
        row.tools = serde_json::to_string(&[&row.tool]).ok();
        row.state = CallState::Fenced;
        row.let_go(self.clock.now());
        row.write(&self.connection, false)?;
        self.count_fences(row.chat, 1)?;
        let chat = row.name.unwrap_or_default();
        self.note(Effect::Ended { chat });
        Ok(())
    }

    /// Cancels a call.
    pub(super) fn cancel(&mut self, fence: &Fence) -> Result<Fenced, Fault> {
        let may_use = |tool: &str| {
            fence
                .tools
                .as_ref()
                .is_none_or(|tools| tools.contains(tool))
        };
        let known = find(&self.connection, fence.chat.as_str(), fence.call.as_str())?;
        let tools = |tools: &Option<_>| {
            tools
                .as_ref()
                .and_then(|tools| serde_json::to_string(tools).ok())
        };
        match known {
            None => {
                let chat = self.chat(&fence.chat, &fence.principal)?;
                const FENCES: &str = "SELECT fences FROM chats WHERE no = ?1";
                let count: i64 = {
                    let mut count = self.connection.prepare_cached(FENCES)?;
                    count.query_row([chat], |row| row.get(0))?
                };
                if u64::try_from(count).unwrap_or_default() >= fence.most {
                    return Ok(Fenced::TooMany);
                }
                let name = (fence.chat.as_str(), fence.call.as_str());
                let mut row = CallRow::new(self.take_number(), chat, name.1, key(name.0, name.1));
                (row.state, row.cancelled) = (CallState::Fenced, true);
                row.principal.clone_from(&fence.principal);
                row.tools = tools(&fence.tools);
                row.let_go(self.clock.now());
                row.write(&self.connection, true)?;
                self.count_fences(chat, 1)?;
                self.note(Effect::Fenced { key: row.key });
                Ok(Fenced::Fenced(fence.tools.clone()))
            }
            Some(mut row) if row.state == CallState::Fenced => {
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
                    row.let_go(self.clock.now());
                    row.write(&self.connection, false)?;
                }
                Ok(Fenced::Fenced(all))
            }
            Some(row) if !may_use(&row.tool) => Ok(Fenced::Foreign),
            Some(mut row) => {
                if !std::mem::replace(&mut row.cancelled, true) {
                    row.write(&self.connection, false)?;
                }
                Ok(Fenced::Known(Box::new(row.into_call()?)))
            }
        }
    }

    /// Makes every call that runs unknown.
    pub(super) fn interrupt(&mut self) -> Result<Vec<Call>, Fault> {
        // Its index holds no more calls than have outcomes.
        const RUNNING: &str = select_calls!(
            "WHERE c.seq IN (SELECT seq FROM calls INDEXED BY calls_held WHERE held = 0)"
        );
        let rows: Vec<_> = {
            let mut rows = self.connection.prepare(RUNNING)?;
            let rows = rows.query_map([], CallRow::read)?;
            rows.collect::<Result<_, _>>()?
        };
        let mut calls = Vec::new();
        for mut row in rows {
            row.state = CallState::Unknown;
            row.ended = Some(super::clock::wall());
            // The arguments stay for the outcome that the call may get.
            let arguments = row.arguments.take();
            row.let_go(self.clock.now());
            row.arguments = arguments;
            // A row that is damaged stays so: its call is unknown already.
            if row.is_sound() {
                row.write(&self.connection, false)?;
            }
            calls.push(row.into_call()?);
        }
        Ok(calls)
    }

    /// Stores that a call was seen of which nothing else is known.
    pub(super) fn lose(&mut self, key: super::witness::Key) -> Result<(), Fault> {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut row = CallRow::new(self.take_number(), 0, &name, key);
        row.let_go(self.clock.now());
        Ok(row.write(&self.connection, true)?)
    }

    /// Makes the row of a call whose id was not seen.
    fn row(&mut self, call: &NewCall) -> Result<CallRow, Fault> {
        let chat = self.chat(&call.chat, &call.principal)?;
        let key = key(call.chat.as_str(), call.call.as_str());
        let mut row = CallRow::new(self.take_number(), chat, call.call.as_str(), key);
        row.principal.clone_from(&call.principal);
        row.tool.clone_from(&call.tool);
        row.arguments.clone_from(&call.arguments);
        row.digest = call.digest;
        row.began = i64::try_from(call.began_ms).unwrap_or(i64::MAX);
        row.tick = self.clock.now();
        Ok(row)
    }

    /// Returns the number of a chat, which is open from now on.
    pub(super) fn chat(&self, chat: &ChatId, owner: &str) -> Result<i64, Fault> {
        const FIND: &str = "SELECT no, ended IS NOT NULL FROM chats WHERE name = ?1";
        const INSERT: &str = "INSERT INTO chats (name, owner, fences) VALUES (?1, ?2, 0)";
        const OPEN: &str = "UPDATE chats SET ended = NULL WHERE no = ?1";
        let mut find = self.connection.prepare_cached(FIND)?;
        let found = find.query_row([chat.as_str()], |row| Ok((row.get(0)?, row.get(1)?)));
        match found.optional()? {
            Some((number, false)) => Ok(number),
            Some((number, true)) => {
                self.connection.prepare_cached(OPEN)?.execute([number])?;
                Ok(number)
            }
            None => {
                self.connection
                    .prepare_cached(INSERT)?
                    .execute([chat.as_str(), owner])?;
                Ok(self.connection.last_insert_rowid())
            }
        }
    }

    /// Forgets a call.
    pub(super) fn remove(&self, row: &CallRow) -> Result<(), Fault> {
        self.connection
            .prepare_cached("DELETE FROM calls WHERE seq = ?1")?
            .execute([row.seq])?;
        if row.state == CallState::Fenced {
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

/// Answers the repeat of a call that has begun.
fn answer(row: CallRow, digest: &[u8; 32]) -> Result<Begun, Fault> {
    // Of a call that was lost, the digest is lost as well.
    if row.state == CallState::Unknown && row.tool.is_empty() {
        return Ok(Begun::Unknown);
    }
    if row.digest != *digest {
        return Ok(Begun::Mismatch);
    }
    Ok(match row.state {
        CallState::Running => Begun::Running,
        _ if row.cancelled => Begun::Cancelled,
        _ if row.outcome().is_some() => Begun::Ended(Box::new(row.into_call()?)),
        CallState::Unknown => Begun::Unknown,
        _ => Begun::Gone,
    })
}
