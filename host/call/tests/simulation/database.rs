//! A model of the shared database: the statements of `host/postgres` on tables in memory, by the clock of the simulation.
//!
//! A statement is a function that takes the whole database, so it is atomic. Every change is checked by [`Audit`], which knows the rules by
//! itself: a statement that lacks a condition is noticed there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use toolhost_state::id::{CallId, ChatId};
use toolhost_store::{Call, CallState, CancelAnswer, Cancellation, EndedCall, NewCall};

use crate::audit::Audit;

/// The id under which a host has a lease.
pub(crate) type HostId = u64;

/// A call.
pub(crate) type Key = (ChatId, CallId);

/// How long a lease lasts.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// One attempt to begin a call, which the row of the call names.
pub(crate) type Attempt = u64;

/// A condition that a statement leaves out, to show that the simulation notices it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// `begin` takes an id that was seen before, if its call does not run.
    BeginTwice,
    /// `begin` does not ask for the lease.
    BeginWithoutLease,
    /// `resume` does not ask whether the call was cancelled or has a reply.
    ResumeAny,
    /// `end` does not ask for the lease.
    EndWithoutLease,
    /// `end` does not ask which host the call belongs to, nor whether it has ended.
    EndOfAnother,
    /// `end` stores a reply of a call that was taken over.
    EndTaken,
    /// `interrupt` takes calls of hosts that have their leases.
    InterruptWithLease,
    /// `withdraw` does not ask whether the call runs again.
    WithdrawResumed,
    /// `withdraw` does not ask which attempt it withdraws.
    WithdrawAny,
    /// `withdraw` does not ask whether the call was taken over.
    WithdrawTaken,
}

/// A row of the table of calls.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) call: Call,
    pub(crate) host: Option<HostId>,
    /// Whether that host took the call over from another one.
    pub(crate) taken: bool,
    pub(crate) attempt: Attempt,
    awaited: bool,
}

impl Row {
    /// Returns whether a call runs at the host that has read the row, and began there.
    pub(crate) fn is_begun_here(&self) -> bool {
        self.call.state == CallState::Running && !self.call.is_elsewhere && !self.taken
    }
}

/// A notification.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Ended(Key),
    Cancelled(HostId, Key),
}

/// A beginning that a host asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) call: NewCall,
    pub(crate) attempt: Attempt,
    /// Whether the call runs again.
    pub(crate) is_resumed: bool,
}

/// The database.
#[derive(Debug)]
pub(crate) struct Database {
    broken: Option<Broken>,
    begun: Instant,
    rows: HashMap<Key, Row>,
    running: BTreeMap<HostId, BTreeSet<Key>>,
    leases: BTreeMap<HostId, (usize, Instant)>,
    last_id: u64,
    last_number: i64,
    /// The connections that listen, by the number of the machine.
    pub(crate) ears: BTreeMap<usize, UnboundedSender<Message>>,
    /// Until then, no connection is taken.
    pub(crate) down_until: Option<Instant>,
    pub(crate) audit: Audit,
}

impl Database {
    pub(crate) fn new(broken: Option<Broken>) -> Self {
        Self {
            broken,
            begun: Instant::now(),
            rows: HashMap::new(),
            running: BTreeMap::new(),
            leases: BTreeMap::new(),
            last_id: 0,
            last_number: 0,
            ears: BTreeMap::new(),
            down_until: None,
            audit: Audit::default(),
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down_until.is_some_and(|until| until > Instant::now())
    }

    pub(crate) fn has_lease(&self, host: HostId) -> bool {
        let lease = self.leases.get(&host);
        lease.is_some_and(|(_, until)| *until > Instant::now())
    }

    /// Takes a lease for a machine, whose earlier leases end. The same id twice is another attempt.
    pub(crate) fn enter(&mut self, host: HostId, machine: usize) {
        let now = Instant::now();
        self.leases
            .retain(|id, (of, until)| *until > now && (*of != machine || *id == host));
        self.leases.insert(host, (machine, Instant::now() + LEASE));
    }

    /// Returns an id that no host and no attempt had before, as a random number is one.
    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Prolongs a lease that has not run out. Returns whether it was prolonged, and whether calls wait to be taken over.
    pub(crate) fn prolong(&mut self, host: HostId) -> (bool, bool) {
        let is_prolonged = self.has_lease(host);
        if let (true, Some(lease)) = (is_prolonged, self.leases.get_mut(&host)) {
            lease.1 = Instant::now() + LEASE;
        }
        let of_lost = self.running.keys().any(|host| !self.has_lease(*host));
        (is_prolonged, of_lost)
    }

    /// Returns a call as a host reads it.
    pub(crate) fn find(&self, host: HostId, key: &Key) -> Option<Row> {
        let mut row = self.rows.get(key)?.clone();
        let is_running = row.call.state == CallState::Running;
        row.call.is_elsewhere = is_running && row.host != Some(host);
        // While a call runs again, its row has the outcome of its last run.
        row.call.outcome.take_if(|_| is_running);
        Some(row)
    }

    pub(crate) fn rows(&self) -> &HashMap<Key, Row> {
        &self.rows
    }

    /// Stores the beginning of a call. Returns whether the host has its lease, and whether the call begins.
    pub(crate) fn begin(&mut self, host: HostId, asked: &Asked) -> (bool, bool) {
        let may_begin = !asked.is_resumed && self.broken == Some(Broken::BeginWithoutLease);
        if !self.has_lease(host) && !may_begin {
            return (false, false);
        }
        let call = &asked.call;
        let key = (call.chat.clone(), call.call.clone());
        let known = self.rows.get(&key).map(|row| &row.call);
        // All tombstones are for the one tool that there is, so none gives way.
        let is_new = known.is_none_or(|known| match (known.state, asked.is_resumed) {
            (CallState::Running | CallState::Tombstone, _) => false,
            (_, false) => self.broken == Some(Broken::BeginTwice),
            (state, true) => {
                let may_resume = state == CallState::Unknown && !known.cancelled;
                (may_resume || self.broken == Some(Broken::ResumeAny))
                    && known.digest == call.digest
            }
        });
        if is_new {
            let outcome = known.and_then(|known| known.outcome.clone());
            let row = Row {
                call: Call {
                    outcome,
                    ..self.new_call(call, CallState::Running)
                },
                host: Some(host),
                taken: false,
                attempt: asked.attempt,
                awaited: false,
            };
            self.write(host, key, Some(row));
        }
        (true, is_new)
    }

    fn new_call(&mut self, call: &NewCall, state: CallState) -> Call {
        self.last_number += 1;
        Call {
            chat: Some(call.chat.clone()),
            call: Some(call.call.clone()),
            number: self.last_number,
            tool: call.tool.clone(),
            principal: call.principal.clone(),
            state,
            cancelled: false,
            tools: None,
            began_ms: call.began_ms,
            ended_ms: None,
            arguments: call.arguments.clone(),
            outcome: None,
            digest: call.digest,
            is_elsewhere: false,
        }
    }

    /// Makes a beginning that an earlier attempt stored that of another attempt. Returns whether there is such a beginning.
    pub(crate) fn adopt(&mut self, host: HostId, key: &Key, attempt: Attempt) -> bool {
        let has_lease = self.has_lease(host);
        let row = self.rows.get_mut(key).filter(|row| {
            let is_own = row.host == Some(host) && !row.taken;
            row.call.state == CallState::Running && is_own && has_lease
        });
        let Some(row) = row else {
            return false;
        };
        row.attempt = attempt;
        true
    }

    /// Stores the end of a call, and the call if its beginning is not stored. Returns whether the host has its lease, and whether the end is stored.
    pub(crate) fn end(&mut self, host: HostId, ended: &EndedCall) -> (bool, bool) {
        let call = &ended.call;
        let key = (call.chat.clone(), call.call.clone());
        let known = self.rows.get(&key);
        let is_own = known.is_none_or(|row| {
            let may_end = !row.taken
                || ended.state == CallState::Unknown
                || self.broken == Some(Broken::EndTaken);
            row.call.state == CallState::Running && row.host == Some(host) && may_end
                || row.call.state == CallState::Tombstone
        });
        if !self.has_lease(host) && self.broken != Some(Broken::EndWithoutLease) {
            return (false, false);
        }
        if !is_own && self.broken != Some(Broken::EndOfAnother) {
            return (true, false);
        }
        let known = known.cloned();
        let was = known.as_ref();
        let was_cancelled =
            was.is_some_and(|row| row.call.state == CallState::Running && row.call.cancelled);
        let is_awaited = was.is_some_and(|row| row.awaited);
        let row = Row {
            call: Call {
                cancelled: ended.cancelled || was_cancelled,
                ended_ms: Some(0),
                outcome: Some(ended.outcome.clone()),
                ..self.new_call(call, ended.state)
            },
            host: Some(host),
            taken: was.is_some_and(|row| row.taken),
            attempt: 0,
            awaited: false,
        };
        self.write(host, key.clone(), Some(row));
        if is_awaited {
            self.notify(&Message::Ended(key));
        }
        (true, true)
    }

    /// Takes over the calls of hosts without a lease.
    pub(crate) fn interrupt(&mut self, host: HostId) {
        if self.has_lease(host) {
            let is_any = self.broken == Some(Broken::InterruptWithLease);
            let of_lost = |of: &HostId| *of != host && (is_any || !self.has_lease(*of));
            let lost = self.running.iter().filter(|(host, _)| of_lost(host));
            let lost: Vec<_> = lost.flat_map(|(_, keys)| keys.clone()).collect();
            for key in lost {
                let row = self.rows[&key].clone();
                let row = Row {
                    host: Some(host),
                    taken: true,
                    ..row
                };
                self.write(host, key, Some(row));
            }
        }
    }

    /// Returns the calls that a host has taken over and not ended.
    pub(crate) fn taken(&self, host: HostId) -> Vec<Call> {
        let own = self.running.get(&host).into_iter().flatten();
        let taken = own.filter_map(|key| self.find(host, key).filter(|row| row.taken));
        taken.map(|row| row.call).collect()
    }

    /// Deletes the beginning of a call that did not run, or makes it a tombstone: if one of these attempts stored it, or any. A call that was
    /// to run again is of unknown outcome, as before.
    pub(crate) fn withdraw(&mut self, host: HostId, key: &Key, attempts: Option<&[Attempt]>) {
        let Some(row) = self.rows.get(key) else {
            return;
        };
        let is_any = self.broken == Some(Broken::WithdrawAny);
        let is_this = is_any || attempts.is_none_or(|attempts| attempts.contains(&row.attempt));
        let is_own = row.call.state == CallState::Running && row.host == Some(host);
        let is_taken = row.taken && self.broken != Some(Broken::WithdrawTaken);
        if !is_own || !is_this || is_taken || !self.has_lease(host) {
            return;
        }
        let is_resumed = row.call.outcome.is_some() && self.broken != Some(Broken::WithdrawResumed);
        let mut row = row.clone();
        let stopped = match &row.call {
            _ if is_resumed => {
                row.call.state = CallState::Unknown;
                Some(row)
            }
            call if call.cancelled => {
                row.call.state = CallState::Tombstone;
                row.call.tools = Some([row.call.tool.clone()].into());
                Some(row)
            }
            _ => None,
        };
        self.write(host, key.clone(), stopped);
    }

    /// Cancels a call. If this attempt began it, of which the host does not know, it is not to run later either. Returns `None` if the
    /// host has no lease.
    pub(crate) fn cancel(
        &mut self,
        host: HostId,
        cancellation: &Cancellation,
        unheard: Option<Attempt>,
    ) -> Option<CancelAnswer> {
        if !self.has_lease(host) {
            return None;
        }
        let key = (cancellation.chat.clone(), cancellation.call.clone());
        let Some(known) = self.find(host, &key) else {
            let call = NewCall {
                chat: key.0.clone(),
                call: key.1.clone(),
                tool: String::new(),
                principal: cancellation.principal.clone(),
                digest: [0; 32],
                arguments: None,
                began_ms: 0,
            };
            let row = Row {
                call: Call {
                    cancelled: true,
                    tools: cancellation.tools.clone(),
                    ..self.new_call(&call, CallState::Tombstone)
                },
                host: None,
                taken: false,
                attempt: 0,
                awaited: false,
            };
            self.write(host, key, Some(row));
            return Some(CancelAnswer::Tombstone(cancellation.tools.clone()));
        };
        if known.call.state == CallState::Tombstone {
            return Some(CancelAnswer::Tombstone(known.call.tools));
        }
        let mut row = self.rows[&key].clone();
        row.call.cancelled = true;
        self.write(host, key.clone(), Some(row));
        if let Some(attempt) = unheard {
            self.withdraw(host, &key, Some(&[attempt]));
        }
        if let (true, Some(host)) = (known.call.is_elsewhere, known.host) {
            self.notify(&Message::Cancelled(host, key));
        }
        let mut call = known.call;
        call.cancelled = true;
        Some(CancelAnswer::Known(Box::new(call)))
    }

    /// Notes that a host waits for the end of a call. This changes nothing that anybody is told, so it asks for no lease.
    pub(crate) fn wait_for(&mut self, key: &Key) {
        if let Some(row) = self.rows.get_mut(key)
            && row.call.state == CallState::Running
        {
            row.awaited = true;
        }
    }

    /// Returns the calls of a host that were cancelled.
    pub(crate) fn cancelled(&self, host: HostId) -> Vec<Key> {
        let own = self.running.get(&host).into_iter().flatten();
        let cancelled = own.filter(|key| self.rows[*key].call.cancelled);
        cancelled.cloned().collect()
    }

    /// Replaces a row, after the audit looked at the change.
    fn write(&mut self, host: HostId, key: Key, row: Option<Row>) {
        let before = self.rows.get(&key);
        let owner_has_lease = before
            .and_then(|row| row.host)
            .is_some_and(|owner| self.has_lease(owner));
        let leases = (self.has_lease(host), owner_has_lease);
        let by = (host, self.begun.elapsed().as_millis());
        self.audit.change(by, leases, &key, before, row.as_ref());
        if let Some(before) = before
            && let Some(owner) = before.host
            && let Some(own) = self.running.get_mut(&owner)
        {
            own.remove(&key);
            if own.is_empty() {
                self.running.remove(&owner);
            }
        }
        let Some(row) = row else {
            self.rows.remove(&key);
            return;
        };
        if let (CallState::Running, Some(owner)) = (row.call.state, row.host) {
            self.running.entry(owner).or_default().insert(key.clone());
        }
        self.rows.insert(key, row);
    }

    fn notify(&self, message: &Message) {
        if self.is_down() {
            return;
        }
        for ear in self.ears.values() {
            _ = ear.send(message.clone());
        }
    }
}
