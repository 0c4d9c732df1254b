//! The lines of the journal of calls, and the facts that they add up to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::call::retention::{EndedCall, Retention, Room, fates};
use crate::call::{Limits, Outcome, ToolSet};
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::state_dir::journal::Known;

/// One fact about a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::call) enum Entry {
    /// The call is about to run.
    Started(Started),
    /// It has ended.
    Ended(Ended),
    /// The call was cancelled. If there is no other fact about it, it has not arrived.
    Cancelled(Cancelled),
    /// It did not run after all, because the disk refused the line of its start.
    Withdrawn(Withdrawn),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::call) struct Started {
    pub(super) chat: String,
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) digest: String,
    /// In milliseconds since the Unix epoch, as everywhere here.
    pub(super) at: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::call) struct Ended {
    pub(super) chat: String,
    pub(super) call: String,
    pub(super) digest: String,
    /// When it ended, or when its outcome went.
    pub(super) at: u64,
    /// Whether it was cancelled before its end.
    #[serde(default)]
    pub(super) tombstone: bool,
    /// `None` if it is no longer kept.
    pub(super) outcome: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::call) struct Cancelled {
    pub(super) chat: String,
    pub(super) call: String,
    pub(super) at: u64,
    /// The tools whose calls do not run under this id; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<BTreeSet<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::call) struct Withdrawn {
    pub(super) chat: String,
    pub(super) call: String,
}

/// The facts about one call.
#[derive(Clone, Debug)]
struct Fact {
    chat: ChatId,
    call: CallId,
    started: Option<Started>,
    ended: Option<Ended>,
    cancelled: Option<Cancelled>,
}

/// The facts about all calls, in the order of the first fact about each.
#[derive(Clone, Debug, Default)]
pub(in crate::call) struct Knowledge {
    limits: Limits,
    facts: BTreeMap<u64, Fact>,
    ids: HashMap<(String, String), u64>,
    next: u64,
}

impl Knowledge {
    /// Makes an empty knowledge, bounded by these limits.
    pub(super) fn nothing(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            ..Self::default()
        }
    }

    fn fact(&mut self, chat: &str, call: &str) -> Option<&mut Fact> {
        let key = (chat.to_owned(), call.to_owned());
        let next = self.next;
        let at = match self.ids.get(&key) {
            Some(at) => *at,
            None => {
                // The host writes no line whose ids are not valid.
                let fact = Fact {
                    chat: chat.parse().ok()?,
                    call: call.parse().ok()?,
                    started: None,
                    ended: None,
                    cancelled: None,
                };
                self.facts.insert(next, fact);
                self.ids.insert(key, next);
                self.next += 1;
                next
            }
        };
        self.facts.get_mut(&at)
    }

    /// Decides the retention of each call that has ended, or never arrived; the others are missing.
    fn fates(&self) -> HashMap<u64, Retention> {
        let now = SystemTime::now();
        let over = self.facts.iter().filter_map(|(number, fact)| {
            let (at, size) = match (&fact.ended, &fact.cancelled) {
                (Some(ended), _) => (
                    ended.at,
                    ended.outcome.as_ref().map(|json| json.get().len()),
                ),
                (None, Some(cancelled)) if fact.started.is_none() => (cancelled.at, None),
                _ => return None,
            };
            let age = now.duration_since(time(at)).unwrap_or_default();
            Some((
                *number,
                EndedCall {
                    chat: &fact.chat,
                    call: &fact.call,
                    age,
                    size,
                },
            ))
        });
        let fates = fates(over.collect(), &self.limits, Room::of(&self.limits));
        fates.into_iter().collect()
    }
}

impl Known for Knowledge {
    type Entry = Entry;
    const FILE: &'static str = "calls.jsonl";
    const SUBJECT: &'static str = "calls";
    /// The largest reply by default is 1 MiB, which has at most six times as many bytes where every character is escaped.
    const LONGEST: usize = 16 << 20;

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Started(started) => {
                if let Some(fact) = self.fact(&started.chat, &started.call) {
                    // An id that runs again had been forgotten: this is another call, whose end is not known yet.
                    fact.ended = None;
                    fact.cancelled = None;
                    fact.started = Some(started);
                }
            }
            Entry::Ended(ended) => {
                // Of a call that was forgotten and ran again, the last end counts.
                if let Some(fact) = self.fact(&ended.chat, &ended.call) {
                    fact.ended = Some(ended);
                }
            }
            Entry::Cancelled(cancelled) => {
                if let Some(fact) = self.fact(&cancelled.chat, &cancelled.call) {
                    fact.cancelled = Some(cancelled);
                }
            }
            Entry::Withdrawn(Withdrawn { chat, call }) => {
                if let Some(fact) = self.fact(&chat, &call) {
                    fact.started = None;
                }
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        let fates = self.fates();
        self.facts.iter().flat_map(move |(number, fact)| {
            let fate = fates.get(number).copied();
            let ended = fact.ended.clone().map(|ended| {
                let goes = fate != Some(Retention::Kept) && ended.outcome.is_some();
                Entry::Ended(match goes {
                    // The time for which the id is remembered begins here.
                    true => Ended {
                        outcome: None,
                        at: now(),
                        ..ended
                    },
                    false => ended,
                })
            });
            let started = match ended {
                Some(_) => None,
                None => fact.started.clone().map(Entry::Started),
            };
            let cancelled = fact.cancelled.clone().map(Entry::Cancelled);
            let all = started.into_iter().chain(ended).chain(cancelled);
            all.filter(move |_| fate != Some(Retention::Forgotten))
        })
    }
}

/// A call of an earlier host, as the ledger takes it over.
#[derive(Debug)]
pub(in crate::call) struct Recovered {
    pub(in crate::call) chat: ChatId,
    pub(in crate::call) call: CallId,
    pub(in crate::call) what: Remains,
    /// Whether the call was cancelled.
    pub(in crate::call) tombstone: bool,
    /// How long ago the last thing happened to it.
    pub(in crate::call) age: Duration,
}

/// The last known state of a call of an earlier host.
#[derive(Debug)]
pub(in crate::call) enum Remains {
    /// It had begun, and not ended.
    Interrupted { digest: [u8; 32], tool: String },
    /// It had ended.
    Ended {
        digest: [u8; 32],
        outcome: Option<Arc<Outcome>>,
    },
    /// The call had not arrived, and must not run if it is of one of these tools.
    Tombstone { tools: ToolSet },
}

impl Knowledge {
    /// Returns all calls, in the order of the first fact about each. Calls with invalid facts are left out.
    pub(super) fn into_recovered(self) -> Vec<Recovered> {
        let now = SystemTime::now();
        let facts = self.facts.into_values();
        facts.filter_map(|fact| fact.recovered(now)).collect()
    }
}

impl Fact {
    /// Returns `None` if the facts are not valid.
    fn recovered(self, now: SystemTime) -> Option<Recovered> {
        // One moment for all of them, because their ages say which of two was first. A clock that was set back makes it now.
        let age = |at| now.duration_since(time(at)).unwrap_or_default();
        let (what, at) = match (self.ended, self.started) {
            (Some(ended), _) => {
                let outcome = ended.outcome.as_ref();
                let outcome = outcome.and_then(|json| serde_json::from_str(json.get()).ok());
                let remains = Remains::Ended {
                    digest: digest(&ended.digest)?,
                    outcome: outcome.map(Arc::new),
                };
                let tombstone = ended.tombstone || self.cancelled.is_some();
                return Some(Recovered {
                    chat: self.chat,
                    call: self.call,
                    what: remains,
                    tombstone,
                    age: age(ended.at),
                });
            }
            (None, Some(started)) => (
                Remains::Interrupted {
                    digest: digest(&started.digest)?,
                    tool: started.tool,
                },
                started.at,
            ),
            (None, None) => {
                let cancelled = self.cancelled?;
                let tools = cancelled.tools.map(Arc::new);
                return Some(Recovered {
                    chat: self.chat,
                    call: self.call,
                    what: Remains::Tombstone { tools },
                    tombstone: true,
                    age: age(cancelled.at),
                });
            }
        };
        Some(Recovered {
            chat: self.chat,
            call: self.call,
            what,
            tombstone: self.cancelled.is_some(),
            age: age(at),
        })
    }
}

pub(super) fn hex(digest: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}

fn digest(hex: &str) -> Option<[u8; 32]> {
    Some(*blake3::Hash::from_hex(hex).ok()?.as_bytes())
}

pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn time(at: u64) -> SystemTime {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(at));
    time.unwrap_or_else(SystemTime::now)
}
