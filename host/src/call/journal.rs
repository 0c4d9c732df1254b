//! What the ledger writes down, so that a call does not run twice because the host stopped.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ledger::retention::{Fate, Past, fates};
use super::{Limits, Outcome, Request};
use crate::id::{CallId, ChatId};
use crate::state_dir::StateDir;
use crate::state_dir::journal::{self, Known};

/// What the ledger survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the host, however it ends. What is written down is in the kernel's hands, and not synced. Should it not be
    /// possible to write, as on a full disk, calls run all the same, and a host that is killed before it is possible again has
    /// not recorded them.
    #[default]
    Host,
    /// That of the machine as well: what is written down is synced before a call begins, and before its caller is told of its
    /// end. A call that cannot be written down does not run.
    Power,
}

/// A text that names no durability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no durability {0:?}: it is host or power")]
pub struct UnknownDurability(String);

impl std::str::FromStr for Durability {
    type Err = UnknownDurability;

    fn from_str(text: &str) -> Result<Self, UnknownDurability> {
        match text {
            "host" => Ok(Self::Host),
            "power" => Ok(Self::Power),
            other => Err(UnknownDurability(other.to_owned())),
        }
    }
}

/// One fact about a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// The call is about to run.
    Started(Started),
    /// It has ended.
    Ended(Ended),
    /// Somebody cancelled it. If that is all that there is, it has not arrived.
    Cancelled(Cancelled),
    /// It did not run after all, because the disk refused the line of its start.
    Withdrawn(Withdrawn),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Started {
    chat: String,
    call: String,
    tool: String,
    digest: String,
    /// In milliseconds since the Unix epoch, as everywhere here.
    at: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    chat: String,
    call: String,
    digest: String,
    /// When it ended, or when its outcome went.
    at: u64,
    /// Whether it was cancelled before its end.
    #[serde(default)]
    fenced: bool,
    /// `None` if it is no longer kept.
    outcome: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cancelled {
    chat: String,
    call: String,
    at: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Withdrawn {
    chat: String,
    call: String,
}

/// What is known of one call.
#[derive(Clone, Debug)]
struct Fact {
    chat: ChatId,
    call: CallId,
    started: Option<Started>,
    ended: Option<Ended>,
    cancelled: Option<u64>,
}

/// What is known of all calls, in the order in which they were first heard of.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    limits: Limits,
    facts: BTreeMap<u64, Fact>,
    ids: HashMap<(String, String), u64>,
    next: u64,
}

impl Knowledge {
    fn fact(&mut self, chat: &str, call: &str) -> Option<&mut Fact> {
        let key = (chat.to_owned(), call.to_owned());
        let next = self.next;
        let at = match self.ids.get(&key) {
            Some(at) => *at,
            None => {
                // A line with another id is none of ours.
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

    /// Returns what is to become of each call that has ended, or never arrived; the others are missing.
    fn fates(&self) -> HashMap<u64, Fate> {
        let now = SystemTime::now();
        let over = self.facts.iter().filter_map(|(number, fact)| {
            let (at, size) = match (&fact.ended, fact.cancelled) {
                (Some(ended), _) => (
                    ended.at,
                    ended.outcome.as_ref().map(|json| json.get().len()),
                ),
                (None, Some(at)) if fact.started.is_none() => (at, None),
                _ => return None,
            };
            let age = now.duration_since(time(at)).unwrap_or_default();
            Some((
                *number,
                Past {
                    chat: &fact.chat,
                    call: &fact.call,
                    age,
                    size,
                },
            ))
        });
        let fates = fates(over.collect(), &self.limits, self.limits.bytes);
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
                    // What was known of an id that runs was forgotten: this is another call, and what came of it is not known yet.
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
                    fact.cancelled = Some(cancelled.at);
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
                let goes = fate != Some(Fate::Kept) && ended.outcome.is_some();
                Entry::Ended(match goes {
                    // For how long it is remembered counts from here.
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
            let cancelled = fact.cancelled.map(|at| {
                Entry::Cancelled(Cancelled {
                    chat: fact.chat.to_string(),
                    call: fact.call.to_string(),
                    at,
                })
            });
            let all = started.into_iter().chain(ended).chain(cancelled);
            all.filter(move |_| fate != Some(Fate::Forgotten))
        })
    }
}

/// A call of an earlier host, as the ledger takes it over.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) chat: ChatId,
    pub(super) call: CallId,
    pub(super) what: Remains,
    /// Whether somebody cancelled it.
    pub(super) fenced: bool,
    /// How long ago the last thing happened to it.
    pub(super) age: Duration,
}

/// What is left of it.
#[derive(Debug)]
pub(super) enum Remains {
    /// It had begun, and not ended.
    Interrupted { digest: [u8; 32], tool: String },
    /// It had ended.
    Ended {
        digest: [u8; 32],
        outcome: Option<Arc<Outcome>>,
    },
    /// It had not arrived.
    Fence,
}

impl Fact {
    /// Returns `None` for what makes no sense.
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
                let fenced = ended.fenced || self.cancelled.is_some();
                return Some(Recovered {
                    chat: self.chat,
                    call: self.call,
                    what: remains,
                    fenced,
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
            (None, None) => (Remains::Fence, self.cancelled?),
        };
        Some(Recovered {
            chat: self.chat,
            call: self.call,
            what,
            fenced: self.cancelled.is_some(),
            age: age(at),
        })
    }
}

/// Writes down what happens to calls.
#[derive(Debug)]
pub(super) struct Journal {
    lines: Arc<journal::Journal<Knowledge>>,
    durability: Durability,
    /// Ends that could not be written down, oldest first: they are written as soon as something can be.
    unwritten: Mutex<VecDeque<Unwritten>>,
}

/// An end that could not be written down.
#[derive(Debug)]
struct Unwritten {
    chat: ChatId,
    digest: [u8; 32],
    fenced: bool,
    outcome: Arc<Outcome>,
}

/// The most ends that wait to be written. Those of calls beyond are unknown to the next start.
const MAX_UNWRITTEN: usize = 4096;

impl Journal {
    /// Returns the journal of a ledger that forgets with its host.
    pub(super) fn none() -> Self {
        Self {
            lines: Arc::new(journal::Journal::none()),
            durability: Durability::Host,
            unwritten: Mutex::default(),
        }
    }

    /// Opens the journal of a state directory and returns what it knew, oldest first.
    pub(super) fn open(
        directory: &StateDir,
        limits: &Limits,
        durability: Durability,
    ) -> io::Result<(Self, Vec<Recovered>)> {
        let nothing = Knowledge {
            limits: limits.clone(),
            ..Knowledge::default()
        };
        let synced = durability == Durability::Power;
        let (lines, known) = journal::Journal::open(directory, nothing, synced)?;
        let now = SystemTime::now();
        let facts = known.facts.into_values();
        let recovered = facts.filter_map(|fact| fact.recovered(now));
        let journal = Self {
            lines: Arc::new(lines),
            durability,
            unwritten: Mutex::default(),
        };
        Ok((journal, recovered.collect()))
    }

    /// Returns the bytes of the journal, how many times something was written to it, and how many of these failed.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        self.lines.counts()
    }

    /// Returns whether callers are told only of what the disk has.
    pub(super) fn is_synced(&self) -> bool {
        self.durability == Durability::Power
    }

    /// Writes down that a call is about to run. If this fails, it must not.
    pub(super) async fn started(&self, request: &Request, digest: &[u8; 32]) -> io::Result<()> {
        let started = Entry::Started(Started {
            chat: request.chat.to_string(),
            call: request.id.to_string(),
            tool: request.tool.clone(),
            digest: hex(digest),
            at: now(),
        });
        let written = self.write(&started).await;
        if written.is_err() {
            // The line may be there all the same, where only the disk refused it.
            let (chat, call) = (request.chat.to_string(), request.id.to_string());
            self.lines
                .append(&Entry::Withdrawn(Withdrawn { chat, call }));
        }
        written
    }

    /// Writes down how a call ended. If it cannot be written now, that was logged, and it is written as soon as it can be: its
    /// caller is told all the same.
    pub(super) async fn ended(
        &self,
        chat: &ChatId,
        digest: &[u8; 32],
        fenced: bool,
        outcome: &Arc<Outcome>,
    ) {
        let end = Unwritten {
            chat: chat.clone(),
            digest: *digest,
            fenced,
            outcome: Arc::clone(outcome),
        };
        if self.lines.try_append(&end.entry()).is_err() {
            self.keep(end);
            return;
        }
        _ = self.synced().await;
        self.catch_up();
    }

    /// Writes down that a call was cancelled, arrived or not.
    pub(super) async fn cancelled(&self, chat: &ChatId, call: &CallId) -> io::Result<()> {
        self.write(&Entry::Cancelled(Cancelled {
            chat: chat.to_string(),
            call: call.to_string(),
            at: now(),
        }))
        .await
    }

    /// Writes the ends that could not be written before, as far as that is possible now.
    pub(super) fn catch_up(&self) {
        loop {
            let next = self.unwritten().pop_front();
            let Some(end) = next else { return };
            if self.lines.try_append(&end.entry()).is_err() {
                return self.unwritten().push_front(end);
            }
        }
    }

    fn keep(&self, end: Unwritten) {
        let mut unwritten = self.unwritten();
        if unwritten.len() >= MAX_UNWRITTEN {
            unwritten.pop_front();
        }
        unwritten.push_back(end);
    }

    fn unwritten(&self) -> MutexGuard<'_, VecDeque<Unwritten>> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, entry: &Entry) -> io::Result<()> {
        let written = self.lines.try_append(entry);
        if !self.is_synced() {
            return Ok(());
        }
        written?;
        self.synced().await
    }

    /// Waits until the disk has what was written, if callers are to be told only then.
    async fn synced(&self) -> io::Result<()> {
        if !self.is_synced() {
            return Ok(());
        }
        let lines = Arc::clone(&self.lines);
        let synced = tokio::task::spawn_blocking(move || lines.sync()).await;
        synced.map_err(io::Error::other)?.inspect_err(|error| {
            tracing::warn!(%error, "the journal of calls cannot be synced");
        })
    }
}

impl Unwritten {
    fn entry(&self) -> Entry {
        let json = match serde_json::value::to_raw_value(&*self.outcome) {
            Ok(json) => Some(json),
            Err(error) => {
                tracing::warn!(%error, "an outcome cannot be written down");
                None
            }
        };
        // One that is too long for a line still must not run again.
        let most = Knowledge::LONGEST / 2;
        Entry::Ended(Ended {
            chat: self.chat.to_string(),
            call: self.outcome.id.to_string(),
            digest: hex(&self.digest),
            at: now(),
            fenced: self.fenced,
            outcome: json.filter(|json| json.get().len() <= most),
        })
    }
}

fn hex(digest: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}

fn digest(hex: &str) -> Option<[u8; 32]> {
    Some(*blake3::Hash::from_hex(hex).ok()?.as_bytes())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn time(at: u64) -> SystemTime {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(at));
    time.unwrap_or_else(SystemTime::now)
}

#[cfg(test)]
impl Journal {
    /// Has further lines written to this file, or to its own again.
    pub(super) fn replace_file(&self, file: Option<std::fs::File>) {
        let shared = self.lines.shared.as_ref();
        let mut out = shared.map(|shared| shared.out());
        if let Some(out) = &mut out {
            out.file = file.map(Arc::new);
        }
    }
}
