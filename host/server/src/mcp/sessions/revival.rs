//! Revival: a session of an earlier server gets a worker, to which the server repeats what the client once said.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequest,
    InitializedNotification, JsonRpcMessage, Request, RequestId, SubscribeRequestParams,
};
use rmcp::service::serve_server_with_ct;
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::SessionId;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, create_local_session,
};
use tokio_util::sync::CancellationToken;

use super::manager::SessionError;
use super::stored::ClientState;
use super::{Held, Sessions, worker_options};
use crate::mcp::caller::{Revived, Session};
use crate::mcp::handler::Handler;

impl Sessions {
    /// Gives a session a worker, unless it has one. The session ends if that fails.
    pub(in crate::mcp) async fn revive(
        self: &Arc<Self>,
        id: &SessionId,
        handler: impl FnOnce() -> Handler + Send + 'static,
        closed: CancellationToken,
    ) -> Result<(), SessionError> {
        let id = Arc::clone(id);
        let (worker, session, client, held) = {
            let open = self.open.lock();
            let open = open.get(&id).ok_or(SessionError::Ended)?;
            if open.handle.initialized() {
                return Ok(());
            }
            let client = open.client.clone().ok_or(SessionError::Ended)?;
            let held = Held(Arc::clone(&open.used));
            (Arc::clone(&open.handle), open.session.clone(), client, held)
        };
        let sessions = Arc::clone(self);
        // A client that does not wait must not leave a worker that knows only half of the session.
        let reviving = tokio::spawn(async move {
            let begin = async || {
                sessions
                    .begin_again(&id, session, client, handler(), closed)
                    .await
            };
            let revived = worker.get_or_try_init(begin).await;
            drop(held);
            if let Err(error) = &revived {
                tracing::warn!(%error, session = &*id, "a session cannot go on: its client has to begin a new one");
                sessions.close(&id).await;
            }
            revived.map(drop)
        });
        reviving.await.unwrap_or(Err(SessionError::Ended))
    }

    async fn begin_again(
        self: &Arc<Self>,
        id: &SessionId,
        session: Session,
        client: ClientState,
        handler: Handler,
        closed: CancellationToken,
    ) -> Result<LocalSessionHandle, SessionError> {
        let (handle, worker) = create_local_session(Arc::clone(id), worker_options());
        let transport = WorkerTransport::spawn_with_ct(worker, session.lost.clone());
        let (sessions, of) = (Arc::clone(self), Arc::clone(id));
        tokio::spawn(async move {
            if let Ok(service) = serve_server_with_ct(handler, transport, closed).await {
                _ = service.waiting().await;
            }
            sessions.close(&of).await;
        });
        let first = ClientRequest::InitializeRequest(InitializeRequest::new(client.initialize));
        handle.initialize(request(first)).await?;
        let mut initialized = ClientJsonRpcMessage::notification(
            ClientNotification::InitializedNotification(InitializedNotification::default()),
        );
        initialized.insert_extension(Revived);
        initialized.insert_extension(parts(&session));
        handle.push_message(initialized, None).await?;
        for address in client.subscriptions {
            let parameters = SubscribeRequestParams::new(address);
            let again = ClientRequest::SubscribeRequest(Request::new(parameters));
            let mut again = request(again);
            again.insert_extension(parts(&session));
            let mut replies = handle.establish_request_wise_channel().await?;
            handle.push_message(again, replies.http_request_id).await?;
            // A resource that is no longer there has no changes. The client learns that when it reads the resource.
            while let Some(event) = replies.inner.recv().await {
                if let Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) =
                    event.message.as_deref()
                {
                    break;
                }
            }
        }
        Ok(handle)
    }
}

/// Returns a request with an id that is free again when it has its reply.
fn request(request: ClientRequest) -> ClientJsonRpcMessage {
    ClientJsonRpcMessage::request(request, RequestId::Number(0))
}

/// Returns the parts of the HTTP request that a message of this session would have come in.
fn parts(session: &Session) -> Parts {
    let mut parts = axum::http::Request::new(()).into_parts().0;
    parts.extensions.insert(session.principal.clone());
    parts.extensions.insert(session.clone());
    parts
}
