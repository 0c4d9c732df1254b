//! The sessions of streamable HTTP, which revisions before 2026-07-28 have: bounded in number, each with a chat of its own
//! that ends with it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use futures_util::{Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::time::Instant;

use super::caller::Session;
use crate::host::Host;
use crate::server::Principal;

/// The most sessions at once.
const MAX_SESSIONS: usize = 256;

/// How long a session may be without any request and any open stream.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How often idle sessions are looked for.
const LOOK: Duration = Duration::from_secs(30);

/// How many messages may wait for a client that does not read; then its session waits.
const WAITING: usize = 16;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("there are {MAX_SESSIONS} sessions, which is the most")]
    Full,
    #[error("the session has ended")]
    Ended,
    #[error("the request came in without a principal that can have a chat")]
    Nobody,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// All sessions of a server.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    host: Host,
    open: Mutex<Open>,
    max: usize,
    idle: Duration,
}

#[derive(Debug, Default)]
struct Open {
    sessions: HashMap<SessionId, Entry>,
    /// How many are being made, and have no id yet.
    places: usize,
    /// Whether idle ones are looked for.
    watched: bool,
}

/// A session, once its first message said whose it is.
#[derive(Clone, Debug)]
struct Entry {
    session: Option<Session>,
    streams: Arc<AtomicUsize>,
    used: Instant,
}

impl Sessions {
    pub(super) fn new(host: Host) -> Self {
        Self::with(host, MAX_SESSIONS, IDLE)
    }

    fn with(host: Host, max: usize, idle: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.channel_capacity = WAITING;
        // An open stream is use, which that does not see.
        inner.session_config.keep_alive = None;
        Self {
            inner,
            host,
            open: Mutex::default(),
            max,
            idle,
        }
    }

    /// Returns whether there is no room for another session.
    pub(super) fn is_full(&self) -> bool {
        self.open().count() >= self.max
    }

    /// Returns whether a session is there, and of this principal.
    pub(super) fn is_of(&self, id: &str, principal: &Principal) -> bool {
        let open = self.open();
        let session = open
            .sessions
            .get(id)
            .and_then(|entry| entry.session.as_ref());
        session.is_some_and(|session| session.principal.name() == principal.name())
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a session is used, and puts it into a message.
    fn enter(
        &self,
        id: &SessionId,
        message: &mut ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        let mut open = self.open();
        let entry = open.sessions.get_mut(id).ok_or(SessionError::Ended)?;
        entry.used = Instant::now();
        message.insert_extension(entry.session.clone().ok_or(SessionError::Ended)?);
        Ok(())
    }

    /// Keeps a session from being idle for as long as a stream of it is read.
    fn hold<S: Stream<Item = ServerSseMessage>>(
        self: &Arc<Self>,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + use<S> {
        let held = Held::new(self, id);
        stream.map(move |message| {
            let _held = &held;
            message
        })
    }

    fn forget(&self, id: &SessionId) -> Option<Session> {
        self.open().sessions.remove(id)?.session
    }

    /// Returns the sessions that nobody has used for too long, and whether there are others.
    fn look(&self) -> (Vec<SessionId>, bool) {
        let mut open = self.open();
        let is_idle = |entry: &Entry| {
            entry.streams.load(Ordering::Relaxed) == 0 && entry.used.elapsed() >= self.idle
        };
        let idle = open.sessions.iter().filter(|(_, entry)| is_idle(entry));
        let idle: Vec<_> = idle.map(|(id, _)| Arc::clone(id)).collect();
        open.watched = open.count() > idle.len();
        (idle, open.watched)
    }
}

impl Open {
    fn count(&self) -> usize {
        self.sessions.len() + self.places
    }
}

/// A stream that is being read.
struct Held {
    sessions: Arc<Sessions>,
    id: SessionId,
    streams: Option<Arc<AtomicUsize>>,
}

impl Held {
    fn new(sessions: &Arc<Sessions>, id: &SessionId) -> Self {
        let open = sessions.open();
        let entry = open.sessions.get(id);
        let streams = entry.map(|entry| Arc::clone(&entry.streams));
        if let Some(streams) = &streams {
            streams.fetch_add(1, Ordering::Relaxed);
        }
        drop(open);
        Self {
            sessions: Arc::clone(sessions),
            id: Arc::clone(id),
            streams,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(streams) = &self.streams {
            streams.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(entry) = self.sessions.open().sessions.get_mut(&self.id) {
            entry.used = Instant::now();
        }
    }
}

/// Ends sessions that nobody uses, for as long as there are any.
async fn watch(sessions: std::sync::Weak<Sessions>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        let (idle, more) = sessions.look();
        for id in idle {
            if let Err(error) = Shared(Arc::clone(&sessions)).close_session(&id).await {
                tracing::debug!(%error, "an idle session ended badly");
            }
        }
        if !more {
            return;
        }
    }
}

/// The sessions as `rmcp` wants them.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub(super) Arc<Sessions>);

impl SessionManager for Shared {
    type Error = SessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        {
            let mut open = self.0.open();
            if open.count() >= self.0.max {
                return Err(SessionError::Full);
            }
            open.places += 1;
        }
        let place = Place(&self.0);
        let (id, transport) = self.0.inner.create_session().await?;
        let mut open = self.0.open();
        let entry = Entry {
            session: None,
            streams: Arc::default(),
            used: Instant::now(),
        };
        open.sessions.insert(Arc::clone(&id), entry);
        if !std::mem::replace(&mut open.watched, true) {
            tokio::spawn(watch(Arc::downgrade(&self.0)));
        }
        drop(open);
        drop(place);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let principal = match &message {
            JsonRpcMessage::Request(request) => {
                let parts = request.request.extensions().get::<Parts>();
                parts.and_then(|parts| parts.extensions.get::<Principal>().cloned())
            }
            _ => None,
        };
        let session = principal.and_then(|principal| Session::new(principal, None).ok());
        let session = session.ok_or(SessionError::Nobody)?;
        if let Some(entry) = self.0.open().sessions.get_mut(id) {
            entry.session = Some(session);
        }
        self.0.enter(id, &mut message)?;
        Ok(self.0.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.0.inner.has_session(id).await?)
    }

    /// Ends a session, whoever wants that, and its chat with it.
    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        if let Some(session) = self.0.forget(id) {
            // First, so that what goes down with the session is not taken for cancelled by the client.
            session.lost.cancel();
            let host = self.0.host.clone();
            // Processes take their time to end, for which nobody should wait.
            tokio::spawn(async move {
                if let Err(error) = host.end_chat(&session.chat).await {
                    tracing::warn!(%error, "the processes of a session cannot be ended");
                }
            });
        }
        Ok(self.0.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        self.0.enter(id, &mut message)?;
        let stream = self.0.inner.create_stream(id, message).await?;
        Ok(self.0.hold(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        self.0.enter(id, &mut message)?;
        Ok(self.0.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let stream = self.0.inner.create_standalone_stream(id).await?;
        Ok(self.0.hold(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let stream = self.0.inner.resume(id, last_event_id).await?;
        Ok(self.0.hold(id, stream))
    }
}

/// A place for a session that is being made.
struct Place<'a>(&'a Sessions);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.open().places -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::FilesGrant;

    #[tokio::test]
    async fn sessions_are_bounded_and_found_when_nobody_uses_them() {
        let workspace = tempfile::tempdir().unwrap();
        let builder = Host::builder(workspace.path()).without_shell();
        let host = builder.files(FilesGrant::None).start().await.unwrap();
        let shared = Shared(Arc::new(Sessions::with(host, 2, Duration::ZERO)));
        let sessions = &shared.0;
        let (one, _transport) = shared.create_session().await.unwrap();
        let (other, _transport) = shared.create_session().await.unwrap();
        assert!(sessions.is_full());
        let third = shared.create_session().await;
        assert!(matches!(third, Err(SessionError::Full)));

        let held = Held::new(sessions, &one);
        assert_eq!(sessions.look(), (vec![Arc::clone(&other)], true));
        drop(held);
        let (idle, more) = sessions.look();
        assert_eq!((idle.len(), more), (2, false));
        shared.close_session(&other).await.unwrap();
        // A second time, it is no failure: the client and the server may end it at once.
        shared.close_session(&other).await.unwrap();
        assert_eq!(sessions.look().0, [one]);
        shared.create_session().await.unwrap();
    }
}
