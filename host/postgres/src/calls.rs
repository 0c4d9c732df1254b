//! Calls: the rule that one begins only if its id was not seen, and what happens to it afterwards.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::unix_time;
use toolhost_store::{
    Begun, Call, CallState, ChatEvent, EndedCall, Ending, NestedCall, NestedRecord, NewCall, News,
};
use uuid::Uuid;

use crate::call_row::{CallRow, select_calls, to_time};
use crate::cancel::STOP_UNHEARD;
use crate::database::{Values, run};
use crate::error::Fault;
use crate::lease::with_lease;
use crate::listen::{CHANNEL, Message};
use crate::readers::{is_read_elsewhere, told};
use crate::{Key, Shared};

/// How often a caller that waits for a call of another host asks for it, at least.
const AT_LEAST: Duration = Duration::from_secs(2);

/// How long after the end of a lease the call is asked for.
const AFTER_LEASE: Duration = Duration::from_millis(50);

/// The statement that stores the beginning of a call. The arguments are the changes of a row that is there already, and the condition
/// under which such a row is changed.
macro_rules! begin_call {
    ($changes:literal, $condition:literal) => {
        concat!(
            "WITH lease AS (SELECT id FROM toolhost.hosts WHERE id = $1 AND until > clock_timestamp()), ",
            "chat AS (INSERT INTO toolhost.chats AS h (chat, owner) SELECT $2, $4 FROM lease ",
            "WHERE NOT EXISTS (SELECT FROM toolhost.chats WHERE chat = $2 AND ended IS NULL) ",
            "ON CONFLICT (chat) DO UPDATE SET ended = NULL), ",
            "new AS (INSERT INTO toolhost.calls AS c (chat, call, host, principal, tool, state, digest, began, arguments, attempt) ",
            "SELECT $2, $3, $1, $4, $5, 0, $6, $7, $8, $9 FROM lease ",
            "ON CONFLICT (chat, call) DO UPDATE SET number = DEFAULT, host = $1, attempt = $9, taken = false, awaited = false, ",
            "principal = $4, state = 0, began = $7, arguments = $8, touched = clock_timestamp(), gone = NULL, ",
            $changes,
            " WHERE ",
            $condition,
            " RETURNING 1) SELECT EXISTS (SELECT FROM lease), EXISTS (SELECT FROM new), ",
            "(SELECT count(pg_notify($10, $11)) FROM new WHERE ",
            is_read_elsewhere!("$2", "$1"),
            ")"
        )
    };
}

impl Shared {
    /// Stores the beginning of a call unless its id was seen.
    pub(crate) async fn begin(&self, call: &NewCall) -> Result<Begun, Fault> {
        // One statement decides. A tombstone for other tools gives way.
        const BEGIN: &str = begin_call!(
            "tool = $5, tools = NULL, cancelled = false, digest = $6",
            "c.state = 5 AND c.tools IS NOT NULL AND NOT $5 = ANY(c.tools)"
        );
        self.begin_with(call, BEGIN).await
    }

    /// Stores that a call runs again whose outcome is unknown. The row keeps that outcome until the call ends, by which a call that runs
    /// again is told from one that runs for the first time.
    pub(crate) async fn resume(&self, call: &NewCall) -> Result<Begun, Fault> {
        const RESUME: &str = begin_call!(
            "tools = NULL",
            "c.state = 4 AND NOT c.cancelled AND c.tool <> '' AND c.digest = $6 AND c.outcome IS NOT NULL"
        );
        self.begin_with(call, RESUME).await
    }

    async fn begin_with(&self, call: &NewCall, statement: &'static str) -> Result<Begun, Fault> {
        let turn = self.beginnings.turn(key(call)).await;
        let attempt = Uuid::now_v7();
        let begun = with_lease!(self, host => run!(self.database, connection => {
            let how = (statement, attempt);
            self.begin_once(connection, host, call, how).await
        }));
        if let Ok(Begun::New) = begun {
            self.running.lock().insert(key(call));
        }
        // An error may be that of a second try, after the first one was stored and its answer was lost.
        turn.end(begun.is_err().then_some(attempt));
        begun
    }

    async fn begin_once(
        &self,
        connection: &Object,
        host: Uuid,
        call: &NewCall,
        (statement, attempt): (&'static str, Uuid),
    ) -> Result<Begun, Fault> {
        // A late withdrawal of an earlier attempt must not withdraw this one.
        const ADOPT: &str = "UPDATE toolhost.calls SET attempt = $4 WHERE chat = $1 AND call = $2 AND host = $3 AND state = 0 \
             AND NOT taken AND toolhost.has_lease($3)";
        let (chat, id) = (call.chat.as_str(), call.call.as_str());
        let digest = &call.digest[..];
        let began = to_time(call.began_ms);
        let event = told(host, &call.chat, event(call, CallState::Running));
        let values: &Values<'_> = &[
            &host,
            &chat,
            &id,
            &call.principal,
            &call.tool,
            &digest,
            &began,
            &call.arguments,
            &attempt,
            &CHANNEL,
            &event,
        ];
        let begin = connection.prepare_cached(statement).await?;
        loop {
            let row = connection.query_one(&begin, values).await?;
            let (has_lease, is_new): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
            if !has_lease {
                return Err(Fault::NoLease);
            }
            if is_new {
                return Ok(Begun::New);
            }
            // `None`: it was forgotten since.
            let Some(known) = find(connection, host, chat, id).await? else {
                continue;
            };
            return Ok(match known.call.state {
                CallState::Tombstone => {
                    let tools = &known.call.tools;
                    let is_for = tools
                        .as_ref()
                        .is_none_or(|tools| tools.contains(&call.tool));
                    match is_for {
                        true => Begun::Cancelled,
                        false => continue,
                    }
                }
                // It was cancelled at another host.
                CallState::Running if known.call.cancelled && self.is_unheard(&known) => {
                    let values: &Values<'_> = &[&chat, &id, &host, &None::<Vec<Uuid>>];
                    for statement in STOP_UNHEARD {
                        connection.execute(statement, values).await?;
                    }
                    continue;
                }
                CallState::Running
                    if self.is_unheard(&known) && known.call.digest == call.digest =>
                {
                    let values: &Values<'_> = &[&chat, &id, &host, &attempt];
                    match connection.execute(ADOPT, values).await? {
                        0 => continue,
                        _ => Begun::New,
                    }
                }
                _ => known.call.answer(&call.digest),
            });
        }
    }

    /// Returns whether a call that is stored as running here has not begun: the database stored its beginning, and the connection was lost
    /// before the answer. The caller has the turn at the call.
    pub(crate) fn is_unheard(&self, row: &CallRow) -> bool {
        let call = &row.call;
        call.state == CallState::Running
            && !call.is_elsewhere
            && !row.taken
            && key_of(call).is_some_and(|key| !self.running.lock().contains(&key))
    }

    /// Returns whether a call has not begun, and is not about to: see [`Shared::is_unheard`].
    fn is_left(&self, row: &CallRow) -> bool {
        // In this order: a beginning is among those that run before it is no longer under way.
        key_of(&row.call).is_some_and(|key| !self.beginnings.is_under_way(&key))
            && self.is_unheard(row)
    }

    /// Stores the end of a call, and the call itself if its beginning is not stored. A host that has lost its lease takes another one
    /// first, under which it ends no call that began before.
    pub(crate) async fn end(&self, ended: &EndedCall) -> Result<Ending, Fault> {
        with_lease!(self, host => self.end_at(host, ended).await)
    }

    async fn end_at(&self, host: Uuid, ended: &EndedCall) -> Result<Ending, Fault> {
        // A call that was taken over ends as unknown (4), also if it runs on at the host that took it over from itself: its callers may
        // have heard so.
        const END: &str = concat!(
            "WITH lease AS (SELECT id FROM toolhost.hosts WHERE id = $1 AND until > clock_timestamp()), \
             chat AS (INSERT INTO toolhost.chats (chat, owner) SELECT $2, $4 FROM lease \
                 WHERE NOT EXISTS (SELECT FROM toolhost.chats WHERE chat = $2) ON CONFLICT (chat) DO NOTHING), \
             done AS (INSERT INTO toolhost.calls AS c (chat, call, host, principal, tool, state, cancelled, digest, began, ended, \
                     arguments, outcome, held) \
                 SELECT $2, $3, $1, $4, $5, $9, $10, $6, $7, $11, $8, $12, $13 FROM lease \
                 ON CONFLICT (chat, call) DO UPDATE SET state = $9, ended = $11, outcome = $12, touched = clock_timestamp(), gone = NULL, \
                     held = $13 + CASE WHEN $8 IS NULL THEN coalesce(octet_length(c.arguments), 0) ELSE 0 END, \
                     arguments = coalesce($8, c.arguments), tools = NULL, digest = $6, tool = $5, principal = $4, began = $7, \
                     cancelled = $10 OR c.state = 0 AND c.cancelled \
                 WHERE c.state = 0 AND c.host = $1 AND (NOT c.taken OR $9 = 4) OR c.state = 5 \
                 RETURNING awaited) \
             SELECT EXISTS (SELECT FROM lease), EXISTS (SELECT FROM done), \
                 (SELECT count(pg_notify($14, $15)) FROM done WHERE awaited), \
                 (SELECT count(pg_notify($14, $16)) FROM done WHERE ",
            is_read_elsewhere!("$2", "$1"),
            ")"
        );
        let call = &ended.call;
        let (chat, id) = (call.chat.as_str(), call.call.as_str());
        let digest = &call.digest[..];
        let began = to_time(call.began_ms);
        let now = to_time(unix_time::now_ms());
        let held = to_time(ended.held());
        let state = ended.state.number();
        let message = Message::Ended {
            chat: call.chat.clone(),
            call: id.to_owned(),
        }
        .to_json();
        let event = told(host, &call.chat, event(call, ended.state));
        let values: &Values<'_> = &[
            &host,
            &chat,
            &id,
            &call.principal,
            &call.tool,
            &digest,
            &began,
            &call.arguments,
            &state,
            &ended.cancelled,
            &now,
            &ended.outcome,
            &held,
            &CHANNEL,
            &message,
            &event,
        ];
        let ending = run!(self.database, connection => {
            let end = connection.prepare_cached(END).await?;
            let row = connection.query_one(&end, values).await?;
            let (has_lease, is_done): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
            if is_done {
                return Ok(Ending::Stored);
            }
            if !has_lease {
                return Err(Fault::NoLease);
            }
            let known = find(connection, host, chat, id).await?;
            Ok(match known.map(|known| known.call) {
                // The attempt before was made, and its answer was lost.
                Some(known) if known.outcome.as_ref() == Some(&ended.outcome) => Ending::Stored,
                Some(known) => Ending::TakenOver(Box::new(known)),
                // It was forgotten.
                None => Ending::Stored,
            })
        })?;
        self.running.lock().remove(&key(call));
        self.touched.lock().add(&call.chat);
        Ok(ending)
    }

    /// Takes over the calls of hosts without a lease.
    pub(crate) async fn interrupt(&self) -> Result<Vec<Call>, Fault> {
        // An earlier attempt may have taken some over, and its answer was lost.
        const TAKE: &str = "UPDATE toolhost.calls c SET host = $1, taken = true WHERE state = 0 AND toolhost.has_lease($1) \
             AND NOT EXISTS (SELECT FROM toolhost.hosts h WHERE h.id = c.host AND h.until > clock_timestamp())";
        const TAKEN: &str = select_calls!("WHERE c.state = 0 AND c.host = $1 AND c.taken");
        let host = self.lease.host();
        let taken = run!(self.database, connection => {
            connection.execute(TAKE, &[&host]).await?;
            let rows = connection.query(TAKEN, &[&host]).await?;
            let rows = rows.iter().map(|row| CallRow::read(row, host));
            rows.collect::<Result<Vec<_>, _>>()
        })?;
        let mut running = self.running.lock();
        let calls = taken.into_iter().map(|row| row.call);
        let calls: Vec<_> = calls
            .filter(|call| key_of(call).is_none_or(|key| running.insert(key)))
            .collect();
        self.lease.count_taken_over(calls.len());
        Ok(calls)
    }

    /// Returns a call; `None` if the id was not seen.
    pub(crate) async fn call(&self, chat: &ChatId, call: &CallId) -> Result<Option<Call>, Fault> {
        let known = self.look_up(chat, call).await?;
        if known.as_ref().is_none_or(|known| !self.is_unheard(known)) {
            return Ok(known.map(|known| known.call));
        }
        // It is about to begin or to be withdrawn, or was left behind.
        let _turn = self.beginnings.turn((chat.clone(), call.clone())).await;
        let known = self.look_up(chat, call).await?;
        let known = known.filter(|known| !self.is_unheard(known));
        Ok(known.map(|known| known.call))
    }

    async fn look_up(&self, chat: &ChatId, call: &CallId) -> Result<Option<CallRow>, Fault> {
        let host = self.lease.host();
        run!(self.database, connection => find(connection, host, chat.as_str(), call.as_str()).await)
    }

    /// Waits until a call runs at no other host, and returns it.
    pub(crate) async fn settled(
        self: &Arc<Self>,
        chat: &ChatId,
        call: &CallId,
    ) -> Result<Option<Call>, Fault> {
        const AWAIT: &str = "WITH waits AS (UPDATE toolhost.calls SET awaited = true WHERE chat = $1 AND call = $2 AND state = 0 AND NOT awaited) \
             SELECT extract(epoch FROM h.until - clock_timestamp())::float8 FROM toolhost.calls c \
             LEFT JOIN toolhost.hosts h ON h.id = c.host AND h.until > clock_timestamp() \
             WHERE c.chat = $1 AND c.call = $2 AND c.state = 0";
        let key = (chat.clone(), call.clone());
        let mut waiting = Waiting::new(self, key);
        loop {
            // The end of the call comes after this, and so does its notification, or the call has ended.
            let lease: Option<f64> = run!(self.database, connection => {
                let wait = connection.prepare_cached(AWAIT).await?;
                let values: &Values<'_> = &[&chat.as_str(), &call.as_str()];
                let row = connection.query_opt(&wait, values).await?;
                row.map_or(Ok(None), |row| Ok(row.try_get(0)?))
            })?;
            match self.call(chat, call).await? {
                Some(known) if known.is_elsewhere => {}
                known => return Ok(known),
            }
            let pause = next_look(lease);
            if pause.is_none() {
                self.tell(News::Interrupted);
            }
            waiting.changed(pause.unwrap_or(AT_LEAST)).await;
        }
    }

    /// Returns the calls that a call has made, in the order of their numbers.
    pub(crate) async fn nested(
        &self,
        chat: &ChatId,
        outer: &CallId,
    ) -> Result<Vec<NestedCall>, Fault> {
        // `0` is the character after `/`.
        const RANGE: &str =
            select_calls!("WHERE c.chat = $1 AND c.call > $2 || '/' AND c.call < $2 || '0'");
        let host = self.lease.host();
        let rows = run!(self.database, connection => {
            let range = connection.prepare_cached(RANGE).await?;
            let values: &Values<'_> = &[&chat.as_str(), &outer.as_str()];
            let rows = connection.query(&range, values).await?;
            let rows = rows.iter().map(|row| CallRow::read(row, host));
            rows.collect::<Result<Vec<_>, _>>()
        })?;
        let rows = rows.into_iter().filter(|row| !self.is_left(row));
        let calls = rows.filter_map(|row| {
            let (of, number) = row.call.call.as_ref()?.outer()?;
            let record = match row.call.state {
                CallState::Tombstone => NestedRecord::Tombstone,
                _ => NestedRecord::Begun(row.call.digest),
            };
            (of == *outer).then_some(NestedCall { number, record })
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_unstable_by_key(|call| call.number);
        Ok(calls)
    }
}

/// Returns the row of a call; `None` if the id was not seen.
pub(crate) async fn find(
    connection: &Object,
    host: Uuid,
    chat: &str,
    call: &str,
) -> Result<Option<CallRow>, Fault> {
    const FIND: &str = select_calls!("WHERE c.chat = $1 AND c.call = $2");
    let find = connection.prepare_cached(FIND).await?;
    let row = connection.query_opt(&find, &[&chat, &call]).await?;
    row.map(|row| CallRow::read(&row, host)).transpose()
}

/// Returns the event of a call that is now in this state.
fn event(call: &NewCall, state: CallState) -> ChatEvent {
    ChatEvent::Call {
        call: call.call.clone(),
        tool: call.tool.clone(),
        state,
    }
}

fn key(call: &NewCall) -> Key {
    (call.chat.clone(), call.call.clone())
}

/// Returns the key of a call, unless only the digest of its id is left.
fn key_of(call: &Call) -> Option<Key> {
    Some((call.chat.clone()?, call.call.clone()?))
}

/// Returns when a caller that waits for a call looks again. `lease` is how long the lease of its host still lasts, in seconds; `None` if
/// that host has none. Returns `None` if the lease is over: then the call is there to be taken over.
fn next_look(lease: Option<f64>) -> Option<Duration> {
    let lasts = Duration::try_from_secs_f64(lease?).ok();
    let lasts = lasts.filter(|lasts| !lasts.is_zero())?;
    // The lease is over then, if the host has not prolonged it.
    Some((lasts + AFTER_LEASE).min(AT_LEAST))
}

/// A caller that waits for the end of a call at another host.
struct Waiting<'a> {
    shared: &'a Shared,
    key: Key,
    changed: tokio::sync::watch::Receiver<()>,
}

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared, key: Key) -> Self {
        let mut awaited = shared.awaited.lock();
        let sender = awaited
            .entry(key.clone())
            .or_insert_with(|| tokio::sync::watch::channel(()).0);
        let changed = sender.subscribe();
        drop(awaited);
        Self {
            shared,
            key,
            changed,
        }
    }

    /// Waits until the call may have ended, but no longer than this time. The notification of an end is lost with the connection that
    /// listens, so the database is asked now and then all the same.
    async fn changed(&mut self, longest: Duration) {
        _ = tokio::time::timeout(longest, self.changed.changed()).await;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut awaited = self.shared.awaited.lock();
        let is_last = awaited
            .get(&self.key)
            .is_some_and(|sender| sender.receiver_count() <= 1);
        if is_last {
            awaited.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_looks_again_when_the_lease_is_over() {
        assert_eq!(next_look(Some(9.5)), Some(AT_LEAST));
        assert_eq!(next_look(Some(0.25)), Some(Duration::from_millis(300)));
    }

    #[test]
    fn a_call_without_a_leased_host_is_there_to_be_taken_over() {
        for lease in [None, Some(0.0), Some(-3.0)] {
            assert_eq!(next_look(lease), None, "{lease:?}");
        }
    }
}
