//! The sessions of streamable HTTP, which revisions before 2026-07-28 have. Their number is bounded. Each session is in the
//! chat that its client named, or in a chat of its own that ends with it. A session outlives its server, not its streams.

mod event_id;
mod manager;
mod replay;
mod revival;
mod stored;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::SessionId;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, SessionConfig, create_local_session,
};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::caller::Session;
use super::requests::Requests;
use super::whereabouts::new_session_id;
pub(super) use manager::Manager;
use manager::SessionError;
use replay::Replays;
use stored::{ClientState, Stored};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Tokens};
use toolhost_state::id::{ChatId, InvalidId};

/// The maximum number of open sessions. One token has at most half of them.
const MAX_SESSIONS: usize = 256;

/// How long a session may be without any request and any open stream.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// A session that was idle for [`IDLE`] divided by this may be ended to make room for another.
const REPLACED: u32 = 30;

/// How often the server checks whether sessions are idle.
const LOOK: Duration = Duration::from_secs(30);

/// How many messages may wait for a client that does not read.
const WAITING: usize = 16;

/// A reason why a session cannot begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoSession {
    #[error("there are too many sessions; end one, or use revision 2026-07-28, which needs none")]
    Full,
    #[error(
        "the prefix of this token's chats is too long for a chat of a session's own: name one in the header Toolhost-Chat"
    )]
    NoChat(#[from] InvalidId),
}

/// All sessions of a server.
#[derive(Debug)]
pub(super) struct Sessions {
    host: Host,
    open: Mutex<HashMap<SessionId, Open>>,
    stored: Stored,
    server: event_id::Server,
    replays: Replays,
    /// The tokens that may have sessions. If unset, every token may.
    tokens: OnceLock<Tokens>,
    max: usize,
    idle: Duration,
}

/// An open session, or one that its first request is about to begin.
#[derive(Debug)]
struct Open {
    session: Session,
    /// The worker; unset for a session of an earlier server without a request since.
    handle: Arc<OnceCell<LocalSessionHandle>>,
    /// Unset until the first message has its reply.
    client: Option<ClientState>,
    requests: Requests,
    begun: SystemTime,
    /// When the session was last used. Shared with its [`Held`]s.
    used: Arc<Mutex<Instant>>,
}

impl Open {
    fn new(session: Session, handle: OnceCell<LocalSessionHandle>) -> Self {
        Self {
            session,
            handle: Arc::new(handle),
            client: None,
            requests: Requests::default(),
            begun: SystemTime::now(),
            used: Arc::new(Mutex::new(Instant::now())),
        }
    }

    fn is_of(&self, token: &str) -> bool {
        self.session.principal.name() == token
    }

    fn is_idle(&self, time: Duration) -> bool {
        Arc::strong_count(&self.used) == 1 && self.used.lock().elapsed() >= time
    }
}

impl Sessions {
    pub(super) fn new(host: Host) -> Self {
        Self::with(host, MAX_SESSIONS, IDLE)
    }

    fn with(host: Host, max: usize, idle: Duration) -> Self {
        Self {
            host,
            open: Mutex::default(),
            stored: Stored::default(),
            server: event_id::Server::default(),
            replays: Replays::default(),
            tokens: OnceLock::new(),
            max,
            idle,
        }
    }

    /// Prepares a session of this token, in this chat or in one of its own, and takes a slot for it. If no slot is free, the
    /// host ends an idle session: one of the same token, if that token has used up its share.
    pub(super) fn prepare(
        self: &Arc<Self>,
        principal: &Principal,
        chat: Option<ChatId>,
    ) -> Result<(Session, Manager), NoSession> {
        let session = Session::new(principal.clone(), chat)?;
        let token = principal.name();
        let mut open = self.open.lock();
        let of_token = open.values().filter(|open| open.is_of(token)).count();
        let has_share = of_token < self.max.div_ceil(2);
        if !has_share || open.len() >= self.max {
            let idle = open.iter().filter(|(_, open)| {
                (has_share || open.is_of(token)) && open.is_idle(self.idle / REPLACED)
            });
            let oldest = idle.min_by_key(|(_, open)| *open.used.lock());
            let oldest = oldest.map(|(id, _)| Arc::clone(id));
            let replaced = oldest.and_then(|id| open.remove_entry(&id));
            let (id, replaced) = replaced.ok_or(NoSession::Full)?;
            self.end(&id, replaced.session);
        }
        let id = new_session_id(&self.host);
        let (handle, worker) = create_local_session(Arc::clone(&id), worker_options());
        let prepared = Open::new(session.clone(), OnceCell::new_with(Some(handle)));
        let held = Held(Arc::clone(&prepared.used));
        open.insert(Arc::clone(&id), prepared);
        drop(open);
        let manager = Manager {
            sessions: Arc::clone(self),
            prepared: Mutex::new(Some((id, worker, held))),
        };
        Ok((session, manager))
    }

    /// Limits sessions to these tokens. The server ends the sessions of other tokens.
    pub(super) fn end_without(&self, tokens: &Tokens) {
        // A second server of the same host would set the same tokens.
        _ = self.tokens.set(tokens.clone());
    }

    /// Returns an open session, if it belongs to this principal.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Session> {
        let open = self.open.lock();
        let open = open.get(id).filter(|open| open.is_of(principal.name()))?;
        Some(open.session.clone())
    }

    /// Returns whether the stream of this event has more events, or will have.
    pub(super) fn goes_on(&self, id: &str, event: &str) -> bool {
        let place = self.server.place(event);
        place.is_some_and(|place| self.replays.goes_on(&SessionId::from(id), place))
    }

    /// Ends a session. The client and the server may both do so.
    pub(super) async fn close(self: &Arc<Self>, id: &SessionId) {
        let open = self.open.lock().remove(id);
        if let Some(open) = open {
            self.end(id, open.session);
        }
        self.store(id).await;
    }

    /// Keeps a session from becoming idle, and returns its parts.
    fn enter(&self, id: &SessionId) -> Result<(LocalSessionHandle, Requests, Held), SessionError> {
        let open = self.open.lock();
        let open = open.get(id).ok_or(SessionError::Ended)?;
        let handle = open.handle.get().ok_or(SessionError::Ended)?;
        let held = Held(Arc::clone(&open.used));
        Ok((handle.clone(), open.requests.clone(), held))
    }

    /// Ends a session that was removed: its worker, its streams, and the requests in it that wait for calls. Also ends its
    /// chat, unless the client named it: a client can come back to a named chat.
    fn end(self: &Arc<Self>, id: &SessionId, session: Session) {
        session.lost.cancel();
        self.replays.forget(id);
        if self.is_left() {
            return;
        }
        let (sessions, id) = (Arc::clone(self), Arc::clone(id));
        // Processes take their time to end, and the caller should not wait for that.
        tokio::spawn(async move {
            sessions.store(&id).await;
            if session.is_named {
                return;
            }
            let ended = sessions
                .host
                .end_chat(&session.chat, session.principal.actor());
            if let Err(error) = ended.await {
                tracing::warn!(%error, "the processes of a session cannot be ended");
            }
        });
    }

    /// Ends a session if it is idle or its token is unknown. Returns whether the session goes on.
    fn end_if_unused(
        self: &Arc<Self>,
        id: &SessionId,
        is_known: impl Fn(&Principal) -> bool,
    ) -> bool {
        let mut sessions = self.open.lock();
        let is_over = |open: &Open| open.is_idle(self.idle) || !is_known(&open.session.principal);
        if sessions.get(id).is_some_and(is_over)
            && let Some(open) = sessions.remove(id)
        {
            self.end(id, open.session);
        }
        sessions.contains_key(id)
    }
}

/// A use of a session: a stream that is being read, or a request without a reply.
struct Held(Arc<Mutex<Instant>>);

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.lock() = Instant::now();
    }
}

impl Held {
    /// Keeps the session in use while this stream is read.
    fn during<S: Stream>(self, stream: S) -> impl Stream<Item = S::Item> + use<S> {
        stream.map(move |item| {
            let _held = &self;
            item
        })
    }
}

/// Returns the options of the workers.
fn worker_options() -> SessionConfig {
    let mut options = SessionConfig::default();
    options.channel_capacity = WAITING;
    // An open stream counts as use, which `rmcp`'s keep-alive does not see. So the server looks for idle sessions itself.
    options.keep_alive = None;
    options
}

/// Ends sessions once they are idle, or once their tokens are no longer known.
async fn watch(sessions: Weak<Sessions>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        sessions.sweep().await;
    }
}

#[cfg(test)]
mod tests;
