//! The records of the ledger: one for each call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::retention::cost;
use crate::call::{Actor, CallStatus, Cancelled, Limits, Outcome, Refused, ToolSet};
use crate::call::{includes, union};
use toolhost_state::id::{CallId, ChatId};

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Running calls are inserted directly, all others by [`Calls::put`].
    pub(super) entries: HashMap<Key, Record>,
    /// The bytes of outcomes.
    pub(super) bytes: usize,
    /// The bytes of ids whose outcome is gone.
    pub(super) ids: usize,
    /// The chats that are being ended, each with how often: nothing begins in them.
    pub(super) closing: HashMap<ChatId, usize>,
    /// How many calls of each chat were cancelled before they arrived, and are remembered for that.
    pub(super) tombstones: HashMap<ChatId, usize>,
    /// When the last sweep for forgettable records began, and whether a sweep is under way.
    pub(super) swept: Option<Instant>,
    pub(super) sweeping: bool,
}

pub(super) type Key = (ChatId, CallId);

/// The answer to a waiting caller: nothing yet, the outcome, or why there will be none.
pub(super) type Completion = Option<Result<Arc<Outcome>, Refused>>;

/// How much a ledger remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Ids of calls, whether they run, have ended, or will never run.
    pub calls: usize,
    /// Calls that run.
    pub running: usize,
    /// Bytes of outcomes.
    pub bytes: usize,
    /// Bytes of the journal on disk.
    pub journal_bytes: u64,
    /// How many times something was written to it.
    pub journal_writes: u64,
    /// How many of these failed.
    pub journal_failures: u64,
    /// Whether there is a journal: without one, all calls are forgotten with the host.
    pub is_journalled: bool,
}

#[derive(Debug)]
pub(super) enum Begun {
    Saved(Arc<Outcome>),
    Running(watch::Receiver<Completion>),
}

/// The result of a cancellation. With `news`, the journal has to record it.
#[derive(Debug)]
pub(super) enum Cancelling {
    /// The call runs; `told` receives its completion.
    Running {
        told: watch::Receiver<Completion>,
        news: bool,
    },
    /// It had ended.
    Over { cancelled: Cancelled, news: bool },
    /// The call has not arrived, and will not run if it is of one of these tools.
    Tombstone { tools: ToolSet, news: bool },
    /// The call is of a tool that the caller may not use.
    Foreign,
}

#[derive(Debug)]
pub(super) enum Record {
    Running {
        digest: [u8; 32],
        tool: String,
        since: Instant,
        cancelled: CancellationToken,
        /// Whether the call was cancelled: repeats after its end are refused.
        tombstone: bool,
        told: watch::Receiver<Completion>,
    },
    Ended {
        digest: [u8; 32],
        /// As above; the call may have been cancelled after its end.
        tombstone: bool,
        outcome: Arc<Outcome>,
        at: Instant,
    },
    Gone {
        digest: [u8; 32],
        tombstone: bool,
        at: Instant,
    },
    /// It was cancelled before it arrived: calls of these tools do not run.
    Tombstone { at: Instant, tools: ToolSet },
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
            Self::Ended {
                tombstone: true, ..
            }
            | Self::Gone {
                tombstone: true, ..
            }
            | Self::Tombstone { .. } => Err(Refused::Cancelled),
            Self::Ended { outcome, .. } => Ok(Begun::Saved(Arc::clone(outcome))),
            Self::Gone { .. } => Err(Refused::Gone),
        }
    }

    /// Returns whether a call of this tool may run in spite of this record: the record is a tombstone of other tools.
    pub(super) fn lets_pass(&self, tool: &str) -> bool {
        matches!(self, Self::Tombstone { tools, .. } if !includes(tools, tool))
    }

    /// Returns where the call stands.
    pub(super) fn status(&self) -> CallStatus {
        match self {
            Self::Running { tool, since, .. } => CallStatus::Live {
                tool: tool.clone(),
                since: *since,
            },
            Self::Ended { outcome, .. } => CallStatus::Ended(Arc::clone(outcome)),
            Self::Gone { .. } => CallStatus::Gone,
            Self::Tombstone { tools, .. } => CallStatus::Tombstone {
                tools: tools.clone(),
            },
        }
    }

    /// Returns when it ended, or its outcome went.
    pub(super) fn ended(&self) -> Option<Instant> {
        match self {
            Self::Ended { at, .. } | Self::Gone { at, .. } | Self::Tombstone { at, .. } => {
                Some(*at)
            }
            Self::Running { .. } => None,
        }
    }

    /// Returns how many bytes the outcome holds, if there still is one.
    pub(super) fn size(&self) -> Option<usize> {
        match self {
            Self::Ended { outcome, .. } => Some(outcome.size()),
            Self::Running { .. } | Self::Gone { .. } | Self::Tombstone { .. } => None,
        }
    }
}

impl Calls {
    /// Cancels a call for a caller: it will not run again, and not at all if it has not arrived. A call of a tool that the
    /// caller may not use stays as it is.
    pub(super) fn cancel(
        &mut self,
        key: Key,
        limits: &Limits,
        actor: &Actor,
    ) -> Result<Cancelling, Refused> {
        let Some(known) = self.entries.get_mut(&key) else {
            let tombstones = self.tombstones.get(&key.0).copied().unwrap_or(0);
            if tombstones >= limits.tombstones_per_chat {
                // Another one would have to be forgotten, and its call could run.
                return Err(Refused::Busy(format!(
                    "{tombstones} calls of this chat were cancelled before they arrived, which is the most that are remembered"
                )));
            }
            return Ok(self.tombstone(key, actor.tools().clone()));
        };
        Ok(match known {
            Record::Running {
                tool,
                cancelled,
                tombstone,
                told,
                ..
            } if actor.may_use(tool) => {
                cancelled.cancel();
                Cancelling::Running {
                    told: told.clone(),
                    news: !std::mem::replace(tombstone, true),
                }
            }
            Record::Ended {
                outcome, tombstone, ..
            } if actor.may_use(&outcome.tool) => Cancelling::Over {
                cancelled: Cancelled::Ended(Arc::clone(outcome)),
                news: !std::mem::replace(tombstone, true),
            },
            // The tool of the call is not known any more.
            Record::Gone { tombstone, .. } if actor.may_use_all() => Cancelling::Over {
                cancelled: Cancelled::Gone,
                news: !std::mem::replace(tombstone, true),
            },
            Record::Running { .. } | Record::Ended { .. } | Record::Gone { .. } => {
                Cancelling::Foreign
            }
            Record::Tombstone { tools, .. } => {
                let all = union(tools, actor.tools());
                match *tools == all {
                    true => Cancelling::Tombstone {
                        tools: all,
                        news: false,
                    },
                    false => self.tombstone(key, all),
                }
            }
        })
    }

    fn tombstone(&mut self, key: Key, tools: ToolSet) -> Cancelling {
        let record = Record::Tombstone {
            at: Instant::now(),
            tools: tools.clone(),
        };
        self.put(key, record);
        Cancelling::Tombstone { tools, news: true }
    }

    /// Replaces the record of a call that does not run.
    pub(super) fn put(&mut self, key: Key, record: Record) {
        self.forget(&key);
        match &record {
            Record::Running { .. } => {}
            Record::Ended { outcome, .. } => self.bytes += outcome.size(),
            Record::Gone { .. } => self.ids += cost(&key.0, &key.1),
            Record::Tombstone { .. } => {
                self.ids += cost(&key.0, &key.1);
                *self.tombstones.entry(key.0.clone()).or_default() += 1;
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
            Some(Record::Tombstone { .. }) => {
                self.ids -= cost(&key.0, &key.1);
                if let Entry::Occupied(mut tombstones) = self.tombstones.entry(key.0.clone()) {
                    *tombstones.get_mut() -= 1;
                    if *tombstones.get() == 0 {
                        tombstones.remove();
                    }
                }
            }
        }
    }

    /// Cancels every call of a chat that runs and is of a tool that the caller may use. Returns the id of each, the receiver
    /// of its completion, and whether the cancellation is new.
    pub(super) fn cancel_running(
        &mut self,
        chat: &ChatId,
        actor: &Actor,
    ) -> Vec<(CallId, watch::Receiver<Completion>, bool)> {
        let records = self.entries.iter_mut().filter(|((of, _), _)| of == chat);
        let running = records.filter_map(|((_, id), record)| match record {
            Record::Running {
                tool,
                cancelled,
                tombstone,
                told,
                ..
            } if actor.may_use(tool) => {
                cancelled.cancel();
                Some((
                    id.clone(),
                    told.clone(),
                    !std::mem::replace(tombstone, true),
                ))
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
