//! Taking over the calls of an earlier host.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::records::Record;
use super::{Ledger, Listener};
use crate::call::Limits;
use crate::call::journal::{Journal, Recovered, Remains};
use crate::call::{Durability, Outcome};
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::state_dir::StateDir;

/// A call that had begun, and not ended, when an earlier host stopped.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// The chat that it belongs to.
    pub chat: ChatId,
    /// Its id.
    pub call: CallId,
    /// The tool that was called.
    pub tool: String,
    /// When it began.
    pub started: SystemTime,
    digest: [u8; 32],
    tombstone: bool,
}

impl Ledger {
    /// Makes a ledger that is part of a host: it reports to `listener`, ends with `stopping`, and is as durable as asked if
    /// there is a state directory. The caller must hold the [`Lock`](toolhost_state::state_dir::Lock) of that directory.
    ///
    /// Returns the calls that were interrupted, too. They have to be [settled](Ledger::settle) before a repeat can come.
    ///
    /// # Errors
    ///
    /// If the journal cannot be used, or was written by a later version.
    pub fn open(
        limits: Limits,
        kept: Option<(&StateDir, Durability)>,
        listener: Box<dyn Listener>,
        stopping: CancellationToken,
    ) -> io::Result<(Self, Vec<Interrupted>)> {
        let (journal, mut recovered) = match kept {
            Some((directory, durability)) => Journal::open(directory, &limits, durability)?,
            None => (Journal::none(), Vec::new()),
        };
        let ledger = Self::with(limits, journal, Some(listener), stopping);
        let now = Instant::now();
        let mut interrupted = Vec::new();
        // The clock of the journal does not tell apart two ends in one millisecond, but retention depends on their order.
        recovered.sort_by_key(|call| Reverse(call.age));
        let mut last = None;
        let mut calls = ledger.shared.calls();
        for call in recovered {
            let at = before(now, call.age);
            let at = last.map_or(at, |last: Instant| at.max(last + Duration::from_nanos(1)));
            last = Some(at);
            let Recovered {
                chat,
                call,
                what,
                tombstone,
                age,
            } = call;
            let record = match what {
                Remains::Interrupted { digest, tool } => {
                    interrupted.push(Interrupted {
                        chat,
                        call,
                        tool,
                        started: SystemTime::now() - age,
                        digest,
                        tombstone,
                    });
                    continue;
                }
                Remains::Ended {
                    digest,
                    outcome: Some(outcome),
                } => Record::Ended {
                    digest,
                    tombstone,
                    outcome,
                    at,
                },
                Remains::Ended {
                    digest,
                    outcome: None,
                } => Record::Gone {
                    digest,
                    tombstone,
                    at,
                },
                Remains::Tombstone { tools } => Record::Tombstone { at, tools },
            };
            calls.put((chat, call), record);
        }
        drop(calls);
        drop(ledger.shared.swept());
        Ok((ledger, interrupted))
    }

    /// Gives an interrupted call its outcome. The call will not run again.
    pub async fn settle(&self, interrupted: &Interrupted, outcome: Outcome) {
        let outcome = Arc::new(outcome);
        let Interrupted {
            chat, call, digest, ..
        } = interrupted;
        let journal = &self.shared.journal;
        journal
            .ended(chat, digest, interrupted.tombstone, &outcome)
            .await;
        let mut calls = self.shared.calls();
        let record = Record::Ended {
            digest: *digest,
            tombstone: interrupted.tombstone,
            outcome,
            at: Instant::now(),
        };
        calls.put((chat.clone(), call.clone()), record);
    }
}

/// Returns the moment so long ago, or as long ago as can be said.
fn before(now: Instant, age: Duration) -> Instant {
    now.checked_sub(age).unwrap_or(now)
}
