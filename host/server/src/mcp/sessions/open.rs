//! The open sessions, and the reservations for new ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::SessionId;
use tokio::time::Instant;

use super::Sessions;
use crate::mcp::caller::Session;
use crate::mcp::lines::Requests;

#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) sessions: HashMap<SessionId, Entry>,
    /// How many sessions are being made, by the name of their token.
    making: HashMap<String, usize>,
    /// Whether a task looks for idle sessions.
    pub(super) watched: bool,
}

/// A session. It counts once its first message has set its principal. Until then, its reservation counts.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) session: Option<Session>,
    /// The streams that are read, and the requests without a reply.
    pub(super) streams: Arc<AtomicUsize>,
    pub(super) used: Instant,
    pub(super) requests: Requests,
}

impl Entry {
    pub(super) fn new() -> Self {
        Self {
            session: None,
            streams: Arc::default(),
            used: Instant::now(),
            requests: Requests::default(),
        }
    }

    pub(super) fn is_idle(&self, time: Duration) -> bool {
        self.streams.load(Ordering::Relaxed) == 0 && self.used.elapsed() >= time
    }

    fn is_of(&self, token: &str) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.principal.name() == token)
    }
}

impl Open {
    pub(super) fn count(&self) -> usize {
        let open = self.sessions.values();
        let open = open.filter(|entry| entry.session.is_some()).count();
        open + self.making.values().sum::<usize>()
    }

    pub(super) fn count_of(&self, token: &str) -> usize {
        let open = self.sessions.values().filter(|entry| entry.is_of(token));
        open.count() + self.making.get(token).copied().unwrap_or_default()
    }

    /// Takes out the session that was idle the longest, if it was idle for at least `time`: of this token, or of any.
    pub(super) fn make_room(
        &mut self,
        token: Option<&str>,
        time: Duration,
    ) -> Option<(SessionId, Session)> {
        let idle = self.sessions.iter_mut().filter(|(_, entry)| {
            let fits = token.is_none_or(|token| entry.is_of(token));
            fits && entry.session.is_some() && entry.is_idle(time)
        });
        let (id, entry) = idle.min_by_key(|(_, entry)| entry.used)?;
        Some((Arc::clone(id), entry.session.take()?))
    }

    fn release(&mut self, token: &str) {
        if let Some(count) = self.making.get_mut(token) {
            *count -= 1;
            if *count == 0 {
                self.making.remove(token);
            }
        }
    }
}

/// A slot for a session that is being made.
#[derive(Debug)]
pub(super) struct SessionReservation {
    sessions: Arc<Sessions>,
    /// The name of the token; `None` once the slot is used.
    token: Option<String>,
}

impl SessionReservation {
    /// Takes a slot, whether or not one is free.
    pub(super) fn take(sessions: &Arc<Sessions>, open: &mut Open, token: &str) -> Self {
        *open.making.entry(token.to_owned()).or_default() += 1;
        Self {
            sessions: Arc::clone(sessions),
            token: Some(token.to_owned()),
        }
    }

    /// Gives it up for the session that was made.
    fn used(mut self, open: &mut Open) {
        if let Some(token) = self.token.take() {
            open.release(&token);
        }
    }
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            self.sessions.open().release(token);
        }
    }
}

/// A session that is to begin, with its place: an extension of the request that begins it.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Prepared(Arc<Mutex<Option<(Session, SessionReservation)>>>);

impl Prepared {
    pub(super) fn new(session: Session, place: SessionReservation) -> Self {
        Self(Arc::new(Mutex::new(Some((session, place)))))
    }

    /// Makes it the session with this id; returns whether it was not before, and there is such an id.
    pub(super) fn begin(&self, sessions: &Sessions, id: &SessionId) -> bool {
        let prepared = self.0.lock().take();
        let Some((session, place)) = prepared else {
            return false;
        };
        let mut open = sessions.open();
        let Some(entry) = open.sessions.get_mut(id) else {
            // Its place takes the lock when it is dropped.
            drop(open);
            return false;
        };
        entry.session = Some(session);
        place.used(&mut open);
        true
    }
}
