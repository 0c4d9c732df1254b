//! What the ledger knows of each call, and when it forgets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::retention::{Fate, Past, fates};
use super::{Begun, Cancelled, Limits, Refused, Standing, Stats};
use crate::call::Outcome;
use crate::id::{CallId, ChatId};

#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) entries: HashMap<Key, Record>,
    pub(super) bytes: usize,
    /// The chats that are being ended, each with how often: nothing begins in them.
    pub(super) closing: HashMap<ChatId, usize>,
    /// How many calls of each chat were cancelled before they arrived, and are remembered for that.
    fences: HashMap<ChatId, usize>,
    swept: Option<Instant>,
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

    fn ended(&self) -> Option<Instant> {
        match self {
            Self::Ended { at, .. } | Self::Gone { at, .. } | Self::Fenced { at } => Some(*at),
            Self::Running { .. } => None,
        }
    }

    /// Returns how many bytes the outcome holds, if there still is one.
    fn size(&self) -> Option<usize> {
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
        let mut known = match self.entries.entry(key) {
            Entry::Vacant(vacant) => {
                let chat = &vacant.key().0;
                let fences = self.fences.entry(chat.clone()).or_default();
                if *fences >= limits.fences_per_chat {
                    // Another one would have to be forgotten, and its call could run.
                    return Err(Refused::Busy(format!(
                        "{fences} calls of this chat were cancelled before they arrived, which is the most that are remembered"
                    )));
                }
                *fences += 1;
                vacant.insert(Record::Fenced { at: Instant::now() });
                return Ok((Err(Cancelled::Fenced), true));
            }
            Entry::Occupied(known) => known,
        };
        Ok(match known.get_mut() {
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

    /// Puts a call that will not run in the place of one that did not come to run.
    pub(super) fn fence(&mut self, key: Key) {
        *self.fences.entry(key.0.clone()).or_default() += 1;
        let record = Record::Fenced { at: Instant::now() };
        self.entries.insert(key, record);
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

    /// Forgets outcomes that are too old or too many, and ids that are older still. Looks at most once a minute, unless
    /// there are too many bytes.
    pub(super) fn sweep(&mut self, limits: &Limits) {
        const EVERY: Duration = Duration::from_secs(60);
        let crowded = self.bytes > limits.bytes;
        if !crowded && self.swept.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.swept = Some(Instant::now());
        // With room to spare, so that not every call from here on sweeps.
        let most_bytes = if crowded {
            limits.bytes / 4 * 3
        } else {
            limits.bytes
        };
        let past = self.entries.iter().filter_map(|(key, record)| {
            let past = Past {
                chat: &key.0,
                call: &key.1,
                age: record.ended()?.elapsed(),
                size: record.size(),
            };
            Some((key, past))
        });
        let fates: Vec<_> = fates(past.collect(), limits, most_bytes)
            .into_iter()
            .filter(|(_, fate)| *fate != Fate::Kept)
            .map(|(key, fate)| (key.clone(), fate))
            .collect();
        for (key, fate) in fates {
            let Entry::Occupied(mut known) = self.entries.entry(key) else {
                continue;
            };
            self.bytes -= known.get().size().unwrap_or(0);
            match (fate, known.get()) {
                (Fate::Forgotten, _) => {
                    known.remove();
                }
                (_, Record::Ended { digest, fenced, .. }) => {
                    let (digest, fenced) = (*digest, *fenced);
                    // For how long it is remembered counts from here.
                    let at = Instant::now();
                    known.insert(Record::Gone { digest, fenced, at });
                }
                _ => {}
            }
        }
        self.fences.clear();
        for ((chat, _), record) in &self.entries {
            if matches!(record, Record::Fenced { .. }) {
                *self.fences.entry(chat.clone()).or_default() += 1;
            }
        }
    }
}
