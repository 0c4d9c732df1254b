//! The audit of the model of the database: which changes of a row the rules allow, whatever the statements ask.

use std::hash::{DefaultHasher, Hash, Hasher};

use toolhost_store::CallState;

use crate::database::{HostId, Key, Row};

/// The changes that broke a rule.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub(crate) taken_over: u64,
    pub(crate) violations: Vec<String>,
    trace: DefaultHasher,
}

impl Audit {
    /// Returns a digest of all changes.
    pub(crate) fn trace(&self) -> u64 {
        self.trace.finish()
    }

    /// Looks at a change of a row by a host. `leases` says whether that host has its lease, and whether the host of the call has its own.
    pub(crate) fn change(
        &mut self,
        (host, now_ms): (HostId, u128),
        leases: (bool, bool),
        key: &Key,
        before: Option<&Row>,
        after: Option<&Row>,
    ) {
        let state = |row: Option<&Row>| row.map(|row| row.call.state.number());
        (now_ms, host, key, state(before), state(after)).hash(&mut self.trace);
        let (has_lease, owner_has_lease) = leases;
        if !has_lease {
            self.violation(key, &format!("host {host} changed it without its lease"));
        }
        let Some(before) = before else {
            return;
        };
        let is_own = before.host == Some(host);
        let runs = before.call.state == CallState::Running;
        let Some(after) = after else {
            if !runs || !is_own || before.call.outcome.is_some() {
                self.violation(key, &format!("host {host} removed it from {before:?}"));
            }
            return;
        };
        let is_same = before.call.state == after.call.state && before.host == after.host;
        if is_same && before.call.outcome == after.call.outcome {
            // It was cancelled.
            return;
        }
        let is_allowed = match (before.call.state, after.call.state) {
            (CallState::Running, CallState::Running) => {
                self.taken_over += 1;
                after.taken && !owner_has_lease
            }
            // A call that runs again has run.
            (CallState::Running, CallState::Tombstone) => is_own && before.call.outcome.is_none(),
            (CallState::Running, _) => is_own,
            // It may run again.
            (CallState::Unknown, CallState::Running) => {
                before.call.digest == after.call.digest && !before.call.cancelled
            }
            (CallState::Tombstone, CallState::Running) => false,
            // A call that only reads is stored at its end, so a cancellation at another host does not meet it.
            (CallState::Tombstone, _) => true,
            _ => false,
        };
        if !is_allowed {
            self.violation(
                key,
                &format!("host {host} changed it from {before:?} to {after:?}"),
            );
        }
    }

    fn violation(&mut self, (chat, call): &Key, text: &str) {
        self.violations.push(format!("{chat} {call}: {text}"));
    }
}
