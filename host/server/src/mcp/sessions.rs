//! The sessions of streamable HTTP, which revisions before 2026-07-28 have. Their number is bounded. Each session is in the
//! chat that its client named, or in a chat of its own that ends with it.

mod open;
mod replay;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::request::Parts;
use futures_util::future::Either;
use futures_util::{Stream, StreamExt, stream};
use parking_lot::{Mutex, MutexGuard};
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::time::Instant;

use super::caller::Session;
use super::lines::Requests;
use open::{Entry, Open, Prepared, SessionReservation};
use replay::Replays;
use toolhost_core::Host;
use toolhost_http::access::{Principal, Tokens};
use toolhost_state::id::{ChatId, InvalidId};

/// The maximum number of open sessions. One token has at most half of them.
const MAX_SESSIONS: usize = 256;

/// How long a session may be without any request and any open stream.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// A session that was idle for [`IDLE`] divided by this may be ended to make room for another.
const REPLACED: u32 = 30;

/// How often the server looks for idle sessions.
const LOOK: Duration = Duration::from_secs(30);

/// How soon a client that lost a stream should come back. `rmcp` sends the same value at the beginning of each stream.
const RETRY: Duration = Duration::from_secs(3);

/// How many messages may wait for a client that does not read.
const WAITING: usize = 16;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("the session has ended")]
    Ended,
    #[error("the session was not prepared")]
    Unprepared,
    #[error("this stream is no longer kept")]
    Forgotten,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// Why a session cannot begin.
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
    inner: LocalSessionManager,
    host: Host,
    open: Mutex<Open>,
    replays: Replays,
    /// The tokens that may have sessions. If unset, every token may.
    tokens: OnceLock<Tokens>,
    max: usize,
    idle: Duration,
}

impl Sessions {
    pub(super) fn new(host: Host) -> Self {
        Self::with(host, MAX_SESSIONS, IDLE)
    }

    fn with(host: Host, max: usize, idle: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.channel_capacity = WAITING;
        // An open stream counts as use, which `rmcp`'s keep-alive does not see. So the server looks for idle sessions itself.
        inner.session_config.keep_alive = None;
        Self {
            inner,
            host,
            open: Mutex::default(),
            replays: Replays::default(),
            tokens: OnceLock::new(),
            max,
            idle,
        }
    }

    /// Prepares a session of this token, in this chat or in one of its own, and reserves a slot for it. If no slot is free, the
    /// host ends an idle session: one of the same token, if that token has used up its share.
    pub(super) async fn prepare(
        self: &Arc<Self>,
        principal: &Principal,
        chat: Option<ChatId>,
    ) -> Result<Prepared, NoSession> {
        let session = Session::new(principal.clone(), chat)?;
        let (name, time) = (principal.name(), self.idle / REPLACED);
        let (place, replaced) = {
            let mut open = self.open();
            let replaced = if open.count_of(name) >= self.max.div_ceil(2) {
                Some(open.make_room(Some(name), time).ok_or(NoSession::Full)?)
            } else if open.count() >= self.max {
                Some(open.make_room(None, time).ok_or(NoSession::Full)?)
            } else {
                None
            };
            (SessionReservation::take(self, &mut open, name), replaced)
        };
        if let Some((id, session)) = replaced {
            self.end(session);
            if let Err(error) = Shared(Arc::clone(self)).close_session(&id).await {
                tracing::debug!(%error, "an idle session ended badly");
            }
        }
        Ok(Prepared::new(session, place))
    }

    /// Limits sessions to these tokens. The server ends the sessions of other tokens.
    pub(super) fn end_without(&self, tokens: &Tokens) {
        // A second server of the same host would set the same tokens.
        _ = self.tokens.set(tokens.clone());
    }

    /// Returns the sessions whose tokens are no longer known.
    fn gone(&self, is_known: impl Fn(&Principal) -> bool) -> Vec<SessionId> {
        let open = self.open();
        let of = |entry: &Entry| {
            let session = entry.session.as_ref();
            session.is_some_and(|session| !is_known(&session.principal))
        };
        let gone = open.sessions.iter().filter(|(_, entry)| of(entry));
        gone.map(|(id, _)| Arc::clone(id)).collect()
    }

    async fn close(self: &Arc<Self>, ids: Vec<SessionId>) {
        for id in ids {
            if let Err(error) = Shared(Arc::clone(self)).close_session(&id).await {
                tracing::debug!(%error, "a session ended badly");
            }
        }
    }

    /// Cancels the requests that wait for calls in a session. Also ends the session's chat, unless the client named it: a
    /// client can come back to a named chat.
    fn end(&self, session: Session) {
        // This comes first, so that calls that fail with the session do not count as cancelled by the client.
        session.lost.cancel();
        if session.is_named {
            return;
        }
        let host = self.host.clone();
        // Processes take their time to end, and the caller should not wait for that.
        tokio::spawn(async move {
            if let Err(error) = host
                .end_chat(&session.chat, session.principal.actor())
                .await
            {
                tracing::warn!(%error, "the processes of a session cannot be ended");
            }
        });
    }

    /// Returns the chat of a session, if the session exists and belongs to this principal.
    pub(super) fn chat_of(&self, id: &str, principal: &Principal) -> Option<ChatId> {
        let open = self.open();
        let session = open.sessions.get(id)?.session.as_ref()?;
        let is_of = session.principal.name() == principal.name();
        is_of.then(|| session.chat.clone())
    }

    /// Returns whether the stream of this event has more events, or will have.
    pub(super) fn goes_on(&self, id: &str, event: &str) -> bool {
        self.replays.goes_on(&SessionId::from(id), event)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    /// Marks a session as used, and puts it into a message. Returns the requests of the session that have no reply yet.
    fn enter(
        &self,
        id: &SessionId,
        message: &mut ClientJsonRpcMessage,
    ) -> Result<Requests, SessionError> {
        let mut open = self.open();
        let entry = open.sessions.get_mut(id).ok_or(SessionError::Ended)?;
        entry.used = Instant::now();
        message.insert_extension(entry.session.clone().ok_or(SessionError::Ended)?);
        Ok(entry.requests.clone())
    }

    /// Keeps a session from becoming idle while one of its streams is read.
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
        self.replays.forget(id);
        self.open().sessions.remove(id)?.session
    }

    /// Returns the idle sessions, and whether there are others.
    fn look(&self) -> (Vec<SessionId>, bool) {
        let mut open = self.open();
        let sessions = open.sessions.iter();
        let idle = sessions.filter(|(_, entry)| entry.is_idle(self.idle));
        let idle: Vec<_> = idle.map(|(id, _)| Arc::clone(id)).collect();
        open.watched = open.sessions.len() > idle.len();
        (idle, open.watched)
    }
}

/// A stream that is being read, or a request without a reply.
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

/// Ends idle sessions and those of unknown tokens, until no session is left.
async fn watch(sessions: std::sync::Weak<Sessions>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        if let Some(tokens) = sessions.tokens.get() {
            let gone = sessions.gone(|principal| tokens.know(principal));
            sessions.close(gone).await;
        }
        let (idle, more) = sessions.look();
        sessions.close(idle).await;
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

    /// Makes a session that counts once it is initialized. Until then, the reservation of its request counts.
    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let (id, transport) = self.0.inner.create_session().await?;
        let mut open = self.0.open();
        open.sessions.insert(Arc::clone(&id), Entry::new());
        if !std::mem::replace(&mut open.watched, true) {
            tokio::spawn(watch(Arc::downgrade(&self.0)));
        }
        drop(open);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let prepared = match &message {
            JsonRpcMessage::Request(request) => {
                let parts = request.request.extensions().get::<Parts>();
                parts.and_then(|parts| parts.extensions.get::<Prepared>().cloned())
            }
            _ => None,
        };
        let initialize = async {
            let begun = prepared.is_some_and(|prepared| prepared.begin(&self.0, id));
            if !begun {
                return Err(SessionError::Unprepared);
            }
            self.0.enter(id, &mut message)?;
            Ok(self.0.inner.initialize_session(id, message).await?)
        };
        let initialized = initialize.await;
        if initialized.is_err() {
            _ = self.close_session(id).await;
        }
        initialized
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.0.inner.has_session(id).await?)
    }

    /// Ends a session, and its chat unless the client named it.
    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        if let Some(session) = self.0.forget(id) {
            self.0.end(session);
        }
        Ok(self.0.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let requests = self.0.enter(id, &mut message)?;
        let mut request = None;
        if let JsonRpcMessage::Request(begun) = &message {
            if let Err(text) = requests.admit(&begun.id) {
                let error = ErrorData::invalid_request(text, None);
                let refused = ServerJsonRpcMessage::error(error, Some(begun.id.clone()));
                let refused = ServerSseMessage::from_message(refused);
                return Ok(Either::Left(stream::iter([refused])));
            }
            request = Some(Admitted(requests, begun.id.clone()));
        }
        let held = Held::new(&self.0, id);
        let mut sent = Box::pin(self.0.inner.create_stream(id, message).await?);
        // The first event is a priming event: it carries only its id.
        let first = sent.next().await.ok_or(SessionError::Ended)?;
        let place = first.event_id.as_deref().and_then(replay::position);
        let (_, number) = place.ok_or(SessionError::Ended)?;
        let recorded = self.0.replays.begin(id, number);
        recorded.push(first);
        let read = Arc::clone(&recorded).read(None);
        let (sessions, session) = (Arc::clone(&self.0), Arc::clone(id));
        tokio::spawn(async move {
            while let Some(message) = sent.next().await {
                if let Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) =
                    message.message.as_deref()
                {
                    // Once the client has the reply, it may use the request id again.
                    request = None;
                }
                recorded.push(message);
            }
            drop(request);
            sessions.replays.end(&session, number);
            drop(held);
        });
        Ok(Either::Right(self.0.hold(id, read)))
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
        let Some((index, number)) = replay::position(&last_event_id) else {
            let stream = self.0.inner.resume(id, last_event_id).await?;
            return Ok(self.0.hold(id, Either::Left(stream)));
        };
        let recorded = self.0.replays.find(id, number);
        let read = recorded.ok_or(SessionError::Forgotten)?.read(Some(index));
        // If the client loses this stream too, before its first event, this event tells where to resume.
        let place = ServerSseMessage::priming(last_event_id, RETRY);
        let read = stream::iter([place]).chain(read);
        Ok(self.0.hold(id, Either::Right(read)))
    }
}

/// A request that has no reply yet.
struct Admitted(Requests, RequestId);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.remove(&self.1);
    }
}

#[cfg(test)]
mod tests;
