//! The row of a call.

use tokio_postgres::Row;
use toolhost_state::id::CallId;
use toolhost_store::{Call, CallState};
use uuid::Uuid;

use crate::error::Fault;

/// The columns that [`CallRow::read`] reads, of the table `c`.
macro_rules! select_calls {
    ($rest:literal) => {
        concat!(
            "SELECT c.chat, c.call, c.number, c.host, c.taken, c.principal, c.tool, c.tools, c.state, c.cancelled, c.digest, c.began, ",
            "c.ended, c.arguments, c.outcome FROM toolhost.calls c ",
            $rest
        )
    };
}
pub(crate) use select_calls;

/// A call as it is stored, and who runs it.
#[derive(Debug)]
pub(crate) struct CallRow {
    pub(crate) call: Call,
    /// The host that runs it, or ran it last.
    pub(crate) host: Option<Uuid>,
    /// Whether that host took it over from another one.
    pub(crate) taken: bool,
}

impl CallRow {
    /// Reads a row of [`select_calls`] for this host.
    pub(crate) fn read(row: &Row, host: Uuid) -> Result<Self, Fault> {
        let (chat, call): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let state: i16 = row.try_get(8)?;
        let state = CallState::from_number(state.into()).ok_or(Fault::Odd("an unknown state"))?;
        let runs_at: Option<Uuid> = row.try_get(3)?;
        let digest: Vec<u8> = row.try_get(10)?;
        // While a call runs again, its row has the end of its last run.
        let has_ended = state != CallState::Running;
        let ended = row.try_get::<_, Option<i64>>(12)?;
        let outcome: Option<String> = row.try_get(14)?;
        let taken = row.try_get(4)?;
        let tools: Option<Vec<String>> = row.try_get(7)?;
        Ok(Self {
            call: Call {
                chat: chat.parse().ok(),
                call: CallId::recorded(&call).ok(),
                number: row.try_get(2)?,
                tool: row.try_get(6)?,
                principal: row.try_get(5)?,
                state,
                cancelled: row.try_get(9)?,
                tools: tools.map(|tools| tools.into_iter().collect()),
                began_ms: time(row.try_get(11)?),
                ended_ms: ended.filter(|_| has_ended).map(time),
                arguments: row.try_get(13)?,
                outcome: outcome.filter(|_| has_ended),
                digest: digest
                    .try_into()
                    .map_err(|_| Fault::Odd("a digest of another length"))?,
                // A call that was taken over runs at no host: the one that took it over is about to end it.
                is_elsewhere: state == CallState::Running && (taken || runs_at != Some(host)),
            },
            host: runs_at,
            taken,
        })
    }
}

/// Returns a time of a table.
pub(crate) fn time(at: i64) -> u64 {
    u64::try_from(at).unwrap_or_default()
}

/// Returns a time, or another number, as tables have it.
pub(crate) fn to_time(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}
