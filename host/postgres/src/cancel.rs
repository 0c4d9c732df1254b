//! Cancellations, and calls that are withdrawn.

use deadpool_postgres::Transaction;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::unix_time;
use toolhost_store::{CallState, CancelAnswer, Cancellation};
use uuid::Uuid;

use crate::Shared;
use crate::call_row::{CallRow, select_calls, to_time};
use crate::database::{Values, transact};
use crate::error::Fault;
use crate::lease::require_lease;
use crate::listen::{CHANNEL, Message};

/// A statement for the row of a call, `$1` and `$2`, that began at the host `$3` and was not taken over. `$4` are the attempts of which one
/// has to have stored its beginning; `NULL`: any.
macro_rules! undo {
    ($change:literal, $condition:literal) => {
        concat!(
            $change,
            " WHERE chat = $1 AND call = $2 AND state = 0 AND host = $3 AND NOT taken AND ",
            $condition,
            " AND toolhost.has_lease($3) AND ($4::uuid[] IS NULL OR attempt = ANY($4))"
        )
    };
}

/// Forgets a call that did not run.
const FORGET: &str = undo!(
    "DELETE FROM toolhost.calls",
    "NOT cancelled AND outcome IS NULL"
);

/// Makes a tombstone of a call that was cancelled and did not run: it is not to run later either.
const STOP: &str = undo!(
    "UPDATE toolhost.calls SET state = 5, tools = ARRAY[tool], gone = clock_timestamp(), arguments = NULL",
    "cancelled AND outcome IS NULL"
);

/// Makes a call that was to run again what it was before: a call of unknown outcome. It did run once, so it must neither be forgotten nor
/// become a tombstone.
const RESTORE: &str = undo!("UPDATE toolhost.calls SET state = 4", "outcome IS NOT NULL");

/// The statements for a call that was cancelled before this host heard of its beginning. The row meets the condition of one of them.
pub(crate) const STOP_UNHEARD: [&str; 2] = [STOP, RESTORE];

impl Shared {
    /// Cancels a call. The host that runs it hears of that.
    pub(crate) async fn cancel(&self, cancellation: &Cancellation) -> Result<CancelAnswer, Fault> {
        let key = (cancellation.chat.clone(), cancellation.call.clone());
        let _turn = self.beginnings.turn(key).await;
        let host = self.lease.host();
        loop {
            let cancelled = transact!(self.database, transaction => {
                self.cancel_in(transaction, host, cancellation).await
            });
            // `None`: the call arrived meanwhile.
            if let Some(answer) = cancelled? {
                return Ok(answer);
            }
        }
    }

    /// Forgets a call that began here and did not run: with one of these attempts, if there are any. A call that was to run again has the
    /// outcome that it had.
    pub(crate) async fn withdraw(
        &self,
        chat: &ChatId,
        call: &CallId,
        attempts: Option<Vec<Uuid>>,
    ) -> Result<(), Fault> {
        let host = self.lease.host();
        self.running.lock().remove(&(chat.clone(), call.clone()));
        transact!(self.database, transaction => {
            for statement in [FORGET, STOP, RESTORE] {
                let values: &Values<'_> =
                    &[&chat.as_str(), &call.as_str(), &host, &attempts];
                transaction.execute(statement, values).await?;
            }
            Ok(())
        })
    }

    /// Cancels a call in a transaction. Returns `None` if the call has arrived meanwhile. The caller has the turn at the call.
    async fn cancel_in(
        &self,
        transaction: &Transaction<'_>,
        host: Uuid,
        cancellation: &Cancellation,
    ) -> Result<Option<CancelAnswer>, Fault> {
        require_lease(transaction, host).await?;
        let (chat, call) = (&cancellation.chat, &cancellation.call);
        match locked(transaction, host, chat, call).await? {
            None => add(transaction, cancellation).await,
            Some(known) if known.call.state == CallState::Tombstone => {
                extend(transaction, cancellation, known).await
            }
            Some(known) => {
                let is_unheard = self.is_unheard(&known);
                let answer = mark(transaction, cancellation, known).await?;
                if is_unheard {
                    // A repeat here would run it, unless its cancellation says otherwise.
                    let none = None::<Vec<Uuid>>;
                    let values: &Values<'_> = &[&chat.as_str(), &call.as_str(), &host, &none];
                    for statement in STOP_UNHEARD {
                        transaction.execute(statement, values).await?;
                    }
                }
                Ok(answer)
            }
        }
    }
}

/// Returns the row of a call, which no other transaction changes until this one ends.
async fn locked(
    transaction: &Transaction<'_>,
    host: Uuid,
    chat: &ChatId,
    call: &CallId,
) -> Result<Option<CallRow>, Fault> {
    const LOCK: &str = select_calls!("WHERE c.chat = $1 AND c.call = $2 FOR UPDATE");
    let row = transaction
        .query_opt(LOCK, &[&chat.as_str(), &call.as_str()])
        .await?;
    row.map(|row| CallRow::read(&row, host)).transpose()
}

/// Adds a tombstone. Returns `None` if the call has arrived meanwhile.
async fn add(
    transaction: &Transaction<'_>,
    cancellation: &Cancellation,
) -> Result<Option<CancelAnswer>, Fault> {
    const CHAT: &str =
        "INSERT INTO toolhost.chats (chat, owner) VALUES ($1, $2) ON CONFLICT (chat) DO NOTHING";
    // Two tombstones that are added at once must not both be the last.
    const ALONE: &str = "SELECT FROM toolhost.chats WHERE chat = $1 FOR UPDATE";
    const COUNT: &str = "SELECT count(*) FROM toolhost.calls WHERE chat = $1 AND state = 5";
    const ADD: &str = "INSERT INTO toolhost.calls (chat, call, principal, tool, tools, state, cancelled, digest, began, gone) \
         VALUES ($1, $2, $3, '', $4, 5, true, $5, $6, clock_timestamp()) ON CONFLICT (chat, call) DO NOTHING";
    let (chat, call) = (cancellation.chat.as_str(), cancellation.call.as_str());
    transaction
        .execute(CHAT, &[&chat, &cancellation.principal])
        .await?;
    transaction.query(ALONE, &[&chat]).await?;
    let count: i64 = transaction.query_one(COUNT, &[&chat]).await?.try_get(0)?;
    if u64::try_from(count).unwrap_or_default() >= cancellation.most {
        return Ok(Some(CancelAnswer::TooMany));
    }
    let tools = cancellation
        .tools
        .as_ref()
        .map(|tools| tools.iter().cloned().collect::<Vec<_>>());
    let (digest, now) = (&[0_u8; 32][..], to_time(unix_time::now_ms()));
    let values: &Values<'_> = &[&chat, &call, &cancellation.principal, &tools, &digest, &now];
    let added = transaction.execute(ADD, values).await?;
    Ok((added > 0).then(|| CancelAnswer::Tombstone(cancellation.tools.clone())))
}

/// Adds the tools of a cancellation to a tombstone.
async fn extend(
    transaction: &Transaction<'_>,
    cancellation: &Cancellation,
    known: CallRow,
) -> Result<Option<CancelAnswer>, Fault> {
    const EXTEND: &str = "UPDATE toolhost.calls SET tools = $3, touched = clock_timestamp(), gone = clock_timestamp() \
         WHERE chat = $1 AND call = $2";
    let all = match (&known.call.tools, &cancellation.tools) {
        (Some(one), Some(other)) => Some(one | other),
        _ => None,
    };
    if all != known.call.tools {
        let tools = all.as_ref();
        let tools = tools.map(|tools| tools.iter().cloned().collect::<Vec<_>>());
        let (chat, call) = (cancellation.chat.as_str(), cancellation.call.as_str());
        transaction.execute(EXTEND, &[&chat, &call, &tools]).await?;
    }
    Ok(Some(CancelAnswer::Tombstone(all)))
}

/// Marks a call that has begun, if the token may use its tool.
async fn mark(
    transaction: &Transaction<'_>,
    cancellation: &Cancellation,
    mut known: CallRow,
) -> Result<Option<CancelAnswer>, Fault> {
    const MARK: &str = "UPDATE toolhost.calls SET cancelled = true WHERE chat = $1 AND call = $2";
    const TELL: &str = "SELECT pg_notify($1, $2)";
    let tools = cancellation.tools.as_ref();
    if !tools.is_none_or(|tools| tools.contains(&known.call.tool)) {
        return Ok(Some(CancelAnswer::Foreign));
    }
    let (chat, call) = (&cancellation.chat, &cancellation.call);
    if !std::mem::replace(&mut known.call.cancelled, true) {
        transaction
            .execute(MARK, &[&chat.as_str(), &call.as_str()])
            .await?;
    }
    if let (true, Some(host)) = (known.call.is_elsewhere, known.host) {
        let message = Message::Cancelled {
            host,
            chat: chat.clone(),
            call: call.to_string(),
        };
        transaction
            .query(TELL, &[&CHANNEL, &message.to_json()])
            .await?;
    }
    Ok(Some(CancelAnswer::Known(Box::new(known.call))))
}
