//! What the ledger knows of each call, and when it forgets.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Begun, Limits, Refused, Standing};
use crate::call::Outcome;
use crate::id::{CallId, ChatId};

/// What the id of a call whose outcome is gone is counted as, in bytes: both ids at their longest, and the record.
const FENCE: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) entries: HashMap<Key, Record>,
    pub(super) bytes: usize,
    swept: Option<Instant>,
}

pub(super) type Key = (ChatId, CallId);

/// What a waiting caller is told: nothing yet, or the outcome.
pub(super) type Told = Option<Arc<Outcome>>;

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
        let mut past: Vec<_> = self
            .entries
            .iter()
            .filter_map(|(key, record)| Some((record.ended()?, key)))
            .collect();
        // Newest first, so that the position within a chat says whether a call is among the last.
        past.sort_by(|a, b| b.cmp(a));
        let mut positions = HashMap::<&ChatId, usize>::new();
        let (mut bytes, mut fence_bytes) = (0, 0);
        let (mut gone, mut forgotten) = (Vec::new(), Vec::new());
        for (at, key) in past {
            let position = positions.entry(&key.0).or_default();
            *position += 1;
            let (age, size) = (at.elapsed(), self.entries.get(key).and_then(Record::size));
            let remembered = limits.keep_per_chat.saturating_add(limits.fences_per_chat);
            let is_kept = age <= limits.keep || *position <= limits.keep_per_chat;
            let is_fenced = age <= limits.fence && *position <= remembered;
            match size {
                Some(size) if is_kept && bytes + size <= most_bytes => bytes += size,
                _ if is_fenced && fence_bytes + FENCE <= limits.bytes / 4 => {
                    fence_bytes += FENCE;
                    gone.push(key.clone());
                }
                _ => forgotten.push(key.clone()),
            }
        }
        self.bytes = bytes;
        for key in forgotten {
            self.entries.remove(&key);
        }
        for key in gone {
            if let Some(record) = self.entries.get_mut(&key)
                && let Record::Ended {
                    digest, fenced, at, ..
                } = record
            {
                *record = Record::Gone {
                    digest: *digest,
                    fenced: *fenced,
                    at: *at,
                };
            }
        }
    }
}
