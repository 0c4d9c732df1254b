//! The sessions as `rmcp` wants them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use futures_util::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, JsonRpcRequest, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionWorker, SessionError as LocalError, StreamableHttpMessageReceiver,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};

use super::event_id::Place;
use super::stored::Subscription;
use super::{Held, Sessions};
use crate::mcp::requests::Requests;

/// How soon a client that lost a stream should come back. `rmcp` sends the same value at the beginning of each stream.
const RETRY: Duration = Duration::from_secs(3);

/// A reason why a request of a session fails.
#[derive(Debug, thiserror::Error)]
pub(in crate::mcp) enum SessionError {
    #[error("the session has ended")]
    Ended,
    #[error("this stream is no longer kept")]
    Forgotten,
    #[error(transparent)]
    Local(#[from] LocalError),
}

/// The sessions, as one request may use them. Dropping the manager gives up the session that it prepared and that did not begin.
pub(in crate::mcp) struct Manager {
    pub(super) sessions: Arc<Sessions>,
    /// The session that this request may begin.
    pub(super) prepared: Mutex<Option<(SessionId, LocalSessionWorker, Held)>>,
}

impl Manager {
    /// Returns the manager of a request that begins no session.
    pub(in crate::mcp) fn of(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
            prepared: Mutex::default(),
        }
    }

    /// Returns the events of a channel of `rmcp`.
    fn events(
        &self,
        mut channel: StreamableHttpMessageReceiver,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let sessions = Arc::clone(&self.sessions);
        let events = stream::poll_fn(move |context| channel.inner.poll_recv(context));
        events.map(move |event| sessions.server.sign(event))
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        if let Some((id, ..)) = self.prepared.get_mut() {
            self.sessions.open.lock().remove(id);
        }
    }
}

impl SessionManager for Manager {
    type Error = SessionError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let prepared = self.prepared.lock().take();
        let (id, worker, _held) = prepared.ok_or(SessionError::Ended)?;
        let lost = {
            let open = self.sessions.open.lock();
            let open = open.get(&id).ok_or(SessionError::Ended)?;
            open.session.lost.clone()
        };
        Ok((id, WorkerTransport::spawn_with_ct(worker, lost)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let (handle, _, _held) = self.sessions.enter(id)?;
        let parameters = match &message {
            JsonRpcMessage::Request(JsonRpcRequest {
                request: ClientRequest::InitializeRequest(first),
                ..
            }) => Some(first.params.clone()),
            _ => None,
        };
        let reply = handle.initialize(message).await?;
        if let (Some(parameters), JsonRpcMessage::Response(response)) = (parameters, &reply)
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            let agreed = agreed.protocol_version.clone();
            // Only a client that knows its session can ask a later server to go on with it, so the session is stored first.
            let parameters = parameters.with_protocol_version(agreed);
            self.sessions.begun(id, parameters).await;
        }
        Ok(reply)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.sessions.open.lock().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        self.sessions.close(id).await;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (handle, requests, held) = self.sessions.enter(id)?;
        let mut subscription = subscription(&message);
        let mut admitted = None;
        if let JsonRpcMessage::Request(request) = &message {
            if let Err(text) = requests.admit(&request.id) {
                let error = ErrorData::invalid_request(text, None);
                let refused = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                let refused = ServerSseMessage::from_message(refused);
                return Ok(Either::Left(stream::iter([refused])));
            }
            admitted = Some(Admitted(requests, request.id.clone()));
        }
        let mut receiver = handle.establish_request_wise_channel().await?;
        let number = receiver.http_request_id.ok_or(SessionError::Ended)?;
        handle.push_message(message, Some(number)).await?;
        let recorded = self.sessions.replays.begin(id, number);
        let read = Held(Arc::clone(&held.0)).during(recorded.read(0));
        let (sessions, session) = (Arc::clone(&self.sessions), Arc::clone(id));
        tokio::spawn(async move {
            while let Some(event) = receiver.inner.recv().await {
                if let Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) =
                    event.message.as_deref()
                {
                    // Once the client has the reply, it may use the request id again.
                    admitted = None;
                }
                if let Some(JsonRpcMessage::Response(_)) = event.message.as_deref()
                    && let Some(subscription) = subscription.take()
                {
                    sessions.subscribed(&session, subscription).await;
                }
                recorded.push(sessions.server.sign(event));
            }
            drop(admitted);
            sessions.replays.end(&session, number);
            drop(held);
        });
        Ok(Either::Right(read))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        let (handle, _, _held) = self.sessions.enter(id)?;
        Ok(handle.push_message(message, None).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (handle, _, held) = self.sessions.enter(id)?;
        let channel = handle.establish_common_channel().await?;
        Ok(held.during(self.events(channel)))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (handle, _, held) = self.sessions.enter(id)?;
        let (index, number) = match self.sessions.server.place(&last_event_id) {
            Some(Place::Request(index, number)) => (index, number),
            Some(Place::Standalone(index)) => {
                let last = index.to_string().parse().map_err(LocalError::from)?;
                let stream = self.events(handle.resume(last).await?);
                return Ok(held.during(Either::Left(stream)));
            }
            None => return Err(SessionError::Forgotten),
        };
        let recorded = self.sessions.replays.find(id, number);
        let recorded = recorded.ok_or(SessionError::Forgotten)?;
        // If the client loses this stream too, before its first event, this event tells where to resume.
        let place = ServerSseMessage::priming(last_event_id, RETRY);
        let read = stream::iter([place]).chain(recorded.read(index.saturating_add(1)));
        Ok(held.during(Either::Right(read)))
    }
}

/// Returns what a client subscribes to with a message, or what it no longer subscribes to.
fn subscription(message: &ClientJsonRpcMessage) -> Option<Subscription> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let (address, begins) = match &request.request {
        ClientRequest::SubscribeRequest(request) => (request.params.uri.clone(), true),
        ClientRequest::UnsubscribeRequest(request) => (request.params.uri.clone(), false),
        _ => return None,
    };
    Some(Subscription { address, begins })
}

/// A request that has no reply yet.
struct Admitted(Requests, RequestId);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.remove(&self.1);
    }
}
