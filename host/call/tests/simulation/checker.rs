//! The checker: what callers were told, and what they must not be told.
//!
//! - No effect of a call happens twice.
//! - Each caller gets an answer, and no call runs for ever.
//! - No two callers of an id have different outcomes, and the database has the same one.
//! - No outcome of a call that runs once follows an unknown one, and no caller who asks after an end was stored hears that it is unknown.
//! - An outcome of a call that runs once is unknown only if another host, or the same one with another lease, took the call over.
//! - A call is refused as cancelled only if it was cancelled. If a caller heard that a call that runs once will not run, it has no effect.
//! - No host without its lease writes, and none changes a call of another one that has its lease: `audit` checks that.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::Mutex;
use toolhost_call::call::{Outcome, State};
use toolhost_store::CallState;

use crate::agents::Agents;
use crate::calls::Kind;
use crate::database::{Database, Key};
use crate::tally::Tally;

/// What the callers of a call were told.
#[derive(Debug)]
struct Told {
    kind: Kind,
    /// The digest of an outcome that is not unknown.
    outcome: Option<u64>,
    was_unknown: bool,
    is_cancelled: bool,
    /// Whether a caller heard that the call will not run.
    has_tombstone: bool,
}

/// The checker of a run.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    told: Mutex<HashMap<Key, Told>>,
    violations: Mutex<Vec<String>>,
}

impl Checker {
    /// Notes that a call is made.
    pub(crate) fn call(&self, key: &Key, kind: Kind) {
        let told = Told {
            kind,
            outcome: None,
            was_unknown: false,
            is_cancelled: false,
            has_tombstone: false,
        };
        self.told.lock().insert(key.clone(), told);
    }

    /// Notes that somebody cancels a call.
    pub(crate) fn cancels(&self, key: &Key) {
        self.with(key, |told| told.is_cancelled = true);
    }

    /// Checks that a call may be refused as cancelled.
    pub(crate) fn refused_as_cancelled(&self, key: &Key) {
        if !self.with(key, |told| told.is_cancelled) {
            self.violation(key, "nobody cancelled it, and it is refused as cancelled");
        }
    }

    /// Notes that a caller was told that a call will not run.
    pub(crate) fn tombstone(&self, key: &Key) {
        self.with(key, |told| told.has_tombstone = true);
    }

    /// Checks the outcome that a caller is told. `is_stored` says whether another outcome than unknown was stored when the caller asked.
    pub(crate) fn outcome(&self, key: &Key, outcome: &Outcome, is_stored: bool) {
        let is_unknown = outcome.state() == State::Unknown;
        let found = self.with(key, |told| {
            if is_unknown {
                told.was_unknown = true;
                // A call that ran again may have ended since.
                let is_told = told.outcome.is_some() && told.kind == Kind::Once;
                let is_late = is_stored || is_told;
                return is_late
                    .then_some("an answer is unknown, although its end was stored or told");
            }
            if told.was_unknown && told.kind == Kind::Once {
                return Some("an outcome follows an unknown one");
            }
            let digest = digest(&serde_json::to_string(outcome).unwrap());
            match told.outcome.replace(digest) {
                Some(other) if other != digest => Some("two callers have different outcomes"),
                _ => None,
            }
        });
        if let Some(found) = found {
            self.violation(key, &format!("{found}: {outcome:?}"));
        }
    }

    fn with<T>(&self, key: &Key, change: impl FnOnce(&mut Told) -> T) -> T {
        change(self.told.lock().get_mut(key).unwrap())
    }

    pub(crate) fn violation(&self, (chat, call): &Key, text: &str) {
        self.violations
            .lock()
            .push(format!("{chat} {call}: {text}"));
    }

    /// Checks all calls after the end of the last one, and returns all violations.
    pub(crate) fn finish(
        &self,
        database: &Database,
        agents: &Agents,
        tally: &Tally,
    ) -> Vec<String> {
        let told = self.told.lock();
        for (key, told) in &*told {
            let effects = agents.effects(key);
            if effects > 1 {
                self.violation(key, &format!("its effect happened {effects} times"));
            }
            if told.has_tombstone && effects > 0 && told.kind == Kind::Once {
                self.violation(key, "a caller heard that it will not run, and it ran");
            }
            let Some(row) = database.rows().get(key) else {
                // A request may be refused until its caller cancels the call at a host that knows nothing of it.
                if told.outcome.is_some() || told.was_unknown || !told.is_cancelled {
                    self.violation(key, "it has no record");
                }
                continue;
            };
            match row.call.state {
                CallState::Running => {
                    self.violation(key, &format!("it never ended: {row:?}"));
                }
                CallState::Unknown => {
                    tally.final_unknown();
                    if told.kind == Kind::Once && !row.taken {
                        self.violation(key, &format!("nobody took it over: {row:?}"));
                    }
                }
                _ => {}
            }
            let stored = row.call.outcome.as_deref().map(digest);
            if told.outcome.is_some() && stored != told.outcome {
                self.violation(
                    key,
                    &format!("its callers were told another outcome than is stored: {row:?}"),
                );
            }
        }
        let mut violations = self.violations.lock().clone();
        violations.extend(database.audit.violations.iter().cloned());
        violations
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
