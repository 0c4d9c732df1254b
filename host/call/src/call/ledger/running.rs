//! The calls that run, and the chats in which none begins.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, Completion, Key, Standing};
use crate::call::digests::Digests;
use crate::call::{Actor, CallStatus, Refused, Request};
use toolhost_state::id::{CallId, ChatId};

/// The number before the first call of a ledger that is not stored. Stored calls have smaller numbers.
pub(super) const UNSTORED: i64 = 1 << 62;

/// The part of the ledger that is in memory.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) running: HashMap<Key, Running>,
    /// The chats that are being ended, each with how often: nothing begins in them.
    pub(super) closing: HashMap<ChatId, usize>,
    /// How many calls have begun.
    begun: i64,
}

/// A call that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) digest: [u8; 32],
    pub(super) request: Arc<Request>,
    /// Its place in the order of all calls, for as long as it is not stored.
    pub(super) number: i64,
    pub(super) since: Instant,
    pub(super) began_ms: u64,
    pub(super) cancelled: CancellationToken,
    /// Whether the call was cancelled: repeats after its end are refused.
    pub(super) tombstone: bool,
    /// Whether the store has its beginning.
    pub(super) is_stored: bool,
    pub(super) told: watch::Receiver<Completion>,
}

impl Running {
    /// Answers a request with this id.
    pub(super) fn answer(&self, asked: &Digests) -> Answer {
        match asked.include(&self.digest) {
            true => Ok(Standing::Running(self.told.clone())),
            false => Err(Refused::InputMismatch),
        }
    }

    /// Returns where the call stands.
    pub(super) fn status(&self) -> CallStatus {
        CallStatus::Live {
            tool: self.request.tool.clone(),
            since: self.since,
        }
    }

    /// Cancels the call. Returns the receiver of its completion, and whether the store has to hear of the cancellation now.
    pub(super) fn cancel(&mut self) -> (watch::Receiver<Completion>, bool) {
        self.cancelled.cancel();
        let is_news = !std::mem::replace(&mut self.tombstone, true);
        (self.told.clone(), is_news && self.is_stored)
    }
}

impl Calls {
    /// Returns the number of a call that begins.
    pub(super) fn take_number(&mut self) -> i64 {
        self.begun += 1;
        UNSTORED + self.begun
    }

    /// Cancels every call of a chat that runs and is of a tool that the caller may use. Returns the id of each, the receiver
    /// of its completion, and whether the store has to hear of it now.
    pub(super) fn cancel_running(
        &mut self,
        chat: &ChatId,
        actor: &Actor,
    ) -> Vec<(CallId, watch::Receiver<Completion>, bool)> {
        let of_chat = self.running.iter_mut().filter(|((of, _), _)| of == chat);
        let may_use = of_chat.filter(|(_, running)| actor.may_use(&running.request.tool));
        let cancelled = may_use.map(|((_, id), running)| {
            let (told, is_news) = running.cancel();
            (id.clone(), told, is_news)
        });
        cancelled.collect()
    }
}
