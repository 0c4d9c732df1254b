//! What the ledger knows of each call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::retention::cost;
use super::{Begun, Cancelled, Limits, Refused, Standing, Stats};
use crate::call::Outcome;
use crate::id::{CallId, ChatId};

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those that run are put here as they are, all others by [`Calls::put`].
    pub(super) entries: HashMap<Key, Record>,
    /// The bytes of outcomes.
    pub(super) bytes: usize,
    /// The bytes of ids whose outcome is gone.
    pub(super) ids: usize,
    /// The chats that are being ended, each with how often: nothing begins in them.
    pub(super) closing: HashMap<ChatId, usize>,
    /// How many calls of each chat were cancelled before they arrived, and are remembered for that.
    pub(super) fences: HashMap<ChatId, usize>,
    /// When it was last looked through for what can be forgotten, and whether somebody is at it.
    pub(super) swept: Option<Instant>,
    pub(super) sweeping: bool,
}

pub(super) type Key = (ChatId, CallId);

/// What a waiting caller is told: nothing yet, the outcome, or why there will be none.
pub(super) type Told = Option<Result<Arc<Outcome>, Refused>>;

#[derive(Debug)]
pub(super) enum Record {
    Running {
        digest: [u8; 32],
        tool: String,
        since: Instant,
        cancelled: CancellationToken,
        /// Whether somebody cancelled it: it is not to be repeated.
        fenced: bool,
        told: watch::Receiver<Told>,
    },
    Ended {
        digest: [u8; 32],
        /// As above; it may have been cancelled after its end.
        fenced: bool,
        outcome: Arc<Outcome>,
        at: Instant,
    },
    Gone {
        digest: [u8; 32],
        fenced: bool,
        at: Instant,
    },
    /// It was cancelled before it arrived.
    Fenced { at: Instant },
}

impl Record {
    /// Answers a request with this id.
    pub(super) fn answer(&self, asked: &[u8; 32]) -> Result<Begun, Refused> {
        let (Self::Running { digest, .. } | Self::Ended { digest, .. } | Self::Gone { digest, .. }) =
            self
        else {
            return Err(Refused::Cancelled);
        };
        if digest != asked {
            return Err(Refused::InputMismatch);
        }
        match self {
            Self::Running { told, .. } => Ok(Begun::Running(told.clone())),
            Self::Ended { fenced: true, .. }
            | Self::Gone { fenced: true, .. }
            | Self::Fenced { .. } => Err(Refused::Cancelled),
            Self::Ended { outcome, .. } => Ok(Begun::Saved(Arc::clone(outcome))),
            Self::Gone { .. } => Err(Refused::Gone),
        }
    }

    /// Answers whoever asks where the call stands.
    pub(super) fn standing(&self) -> Standing {
        match self {
            Self::Running { tool, since, .. } => Standing::Live {
                tool: tool.clone(),
                since: *since,
            },
            Self::Ended { outcome, .. } => Standing::Ended(Arc::clone(outcome)),
            Self::Gone { .. } => Standing::Gone,
            Self::Fenced { .. } => Standing::Fenced,
        }
    }

    /// Returns when it ended, or its outcome went.
    pub(super) fn ended(&self) -> Option<Instant> {
        match self {
            Self::Ended { at, .. } | Self::Gone { at, .. } | Self::Fenced { at } => Some(*at),
            Self::Running { .. } => None,
        }
    }

    /// Returns how many bytes the outcome holds, if there still is one.
    pub(super) fn size(&self) -> Option<usize> {
        match self {
            Self::Ended { outcome, .. } => Some(outcome.size()),
            Self::Running { .. } | Self::Gone { .. } | Self::Fenced { .. } => None,
        }
    }
}

impl Calls {
    /// Cancels a call: it will not run again, and not at all if it has not arrived. Returns what there is to wait for, or
    /// what came of it already; and whether this is news, which has to be written down.
    pub(super) fn cancel(
        &mut self,
        key: Key,
        limits: &Limits,
    ) -> Result<(Result<watch::Receiver<Told>, Cancelled>, bool), Refused> {
        let Some(known) = self.entries.get_mut(&key) else {
            let fences = self.fences.get(&key.0).copied().unwrap_or(0);
            if fences >= limits.fences_per_chat {
                // Another one would have to be forgotten, and its call could run.
                return Err(Refused::Busy(format!(
                    "{fences} calls of this chat were cancelled before they arrived, which is the most that are remembered"
                )));
            }
            self.put(key, Record::Fenced { at: Instant::now() });
            return Ok((Err(Cancelled::Fenced), true));
        };
        Ok(match known {
            Record::Running {
                cancelled,
                fenced,
                told,
                ..
            } => {
                cancelled.cancel();
                (Ok(told.clone()), !std::mem::replace(fenced, true))
            }
            Record::Ended {
                outcome, fenced, ..
            } => {
                let outcome = Arc::clone(outcome);
                let news = !std::mem::replace(fenced, true);
                (Err(Cancelled::Ended(outcome)), news)
            }
            Record::Gone { fenced, .. } => (Err(Cancelled::Gone), !std::mem::replace(fenced, true)),
            Record::Fenced { .. } => (Err(Cancelled::Fenced), false),
        })
    }

    /// Puts what is known of a call that does not run, in the place of what was.
    pub(super) fn put(&mut self, key: Key, record: Record) {
        self.forget(&key);
        match &record {
            Record::Running { .. } => {}
            Record::Ended { outcome, .. } => self.bytes += outcome.size(),
            Record::Gone { .. } => self.ids += cost(&key.0, &key.1),
            Record::Fenced { .. } => {
                self.ids += cost(&key.0, &key.1);
                *self.fences.entry(key.0.clone()).or_default() += 1;
            }
        }
        self.entries.insert(key, record);
    }

    /// Forgets a call.
    pub(super) fn forget(&mut self, key: &Key) {
        match self.entries.remove(key) {
            None | Some(Record::Running { .. }) => {}
            Some(Record::Ended { outcome, .. }) => self.bytes -= outcome.size(),
            Some(Record::Gone { .. }) => self.ids -= cost(&key.0, &key.1),
            Some(Record::Fenced { .. }) => {
                self.ids -= cost(&key.0, &key.1);
                if let Entry::Occupied(mut fences) = self.fences.entry(key.0.clone()) {
                    *fences.get_mut() -= 1;
                    if *fences.get() == 0 {
                        fences.remove();
                    }
                }
            }
        }
    }

    /// Cancels every call of a chat that runs. Returns each with what there is to wait for, and whether this is news.
    pub(super) fn cancel_running(
        &mut self,
        chat: &ChatId,
    ) -> Vec<(CallId, watch::Receiver<Told>, bool)> {
        let records = self.entries.iter_mut().filter(|((of, _), _)| of == chat);
        let running = records.filter_map(|((_, id), record)| match record {
            Record::Running {
                cancelled,
                fenced,
                told,
                ..
            } => {
                cancelled.cancel();
                Some((id.clone(), told.clone(), !std::mem::replace(fenced, true)))
            }
            _ => None,
        });
        running.collect()
    }

    pub(super) fn stats(&self) -> Stats {
        let running = |record: &&Record| matches!(record, Record::Running { .. });
        Stats {
            calls: self.entries.len(),
            running: self.entries.values().filter(running).count(),
            bytes: self.bytes,
            ..Stats::default()
        }
    }
}
