//! MCP as streamable HTTP, behind the tokens and the checks of `Host` and `Origin` that all routes have.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http_body_util::Full;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::{
    SessionId, StreamableHttpServerConfig, StreamableHttpService,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{Connection, SESSION};
use super::handler::Handler;
use super::message::{Message, Written};
use super::sessions::{Manager, NoSession, Sessions};
use super::{McpOptions, errors, ids, keepalive};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope, Tokens};
use toolhost_http::body;
use toolhost_http::event_stream::last_event;
use toolhost_http::guarded_body::Holding;
use toolhost_http::problem::{Kind, Problem};

/// The most bytes of the message that begins a session. The store keeps its parameters.
const MAX_INITIALIZE: usize = 64 << 10;

/// How long replies may take to reach their clients when the server stops.
const LAST_REPLIES: Duration = Duration::from_secs(3);

/// The tools of a host as an MCP server. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Mcp {
    host: Host,
    options: McpOptions,
    /// The sessions, made with the routes: not before there is a server.
    sessions: Arc<Sessions>,
    /// Cancelled when the server stops: ends streams that would otherwise stay open.
    stopping: CancellationToken,
    /// Cancelled after `stopping`, when all replies are out: ends all remaining connections.
    closed: CancellationToken,
    /// The replies that are being sent.
    replies: TaskTracker,
}

impl Mcp {
    pub(crate) fn new(host: Host, options: McpOptions) -> Self {
        Self {
            sessions: Arc::new(Sessions::new(host.clone())),
            host,
            options,
            stopping: CancellationToken::new(),
            closed: CancellationToken::new(),
            replies: TaskTracker::new(),
        }
    }

    /// Returns the route. A session ends when its token is no longer one of these.
    pub(crate) fn router<S>(&self, tokens: &Tokens) -> Router<S> {
        self.sessions.end_without(tokens);
        Router::new()
            .route("/mcp", any(Self::answer))
            .route("/mcp/{chat}", any(Self::answer))
            .with_state(self.clone())
    }

    /// Goes on with the sessions of an earlier server.
    pub(crate) async fn take_over(&self) {
        self.sessions.take_over().await;
    }

    /// Ends streams, once the replies that are being sent have arrived. The caller has ended all calls before. Sessions are left
    /// to the next server.
    pub(crate) async fn end(&self) {
        self.stopping.cancel();
        self.replies.close();
        _ = tokio::time::timeout(LAST_REPLIES, self.replies.wait()).await;
        self.sessions.leave().await;
        self.closed.cancel();
    }

    /// Returns the service that answers a client's request. Each request gets its own, because `rmcp` looks tools up in a
    /// handler that it makes without naming the client.
    fn service(
        &self,
        principal: Principal,
        manager: Manager,
    ) -> StreamableHttpService<Handler, Manager> {
        let config = StreamableHttpServerConfig::default()
            // The server checked both headers before, against the operator's settings.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(super::lines::MAX_LINE)
            .with_cancellation_token(self.closed.clone());
        let mcp = self.clone();
        let handler = move || Ok(mcp.handler(principal.clone()));
        StreamableHttpService::new(handler, Arc::new(manager), config)
    }

    fn handler(&self, principal: Principal) -> Handler {
        let (host, options) = (self.host.clone(), self.options.clone());
        Handler::new(host, options, principal, None, self.stopping.clone())
    }

    async fn answer(
        State(mcp): State<Self>,
        path: Option<Path<String>>,
        request: Request,
    ) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        let principal = parts.extensions.get::<Principal>().cloned();
        let principal = principal.ok_or_else(|| {
            let detail = "the request came in without a principal";
            Problem::new(Kind::INTERNAL, detail)
        })?;
        principal.require(Scope::Call)?;
        let path = path.as_ref().map(|path| path.0.as_str());
        let connection = Connection::of(path, &parts.headers)?;
        let named = connection.chat.clone();
        if let Some(chat) = &named {
            principal.require_chat(Scope::Call, chat)?;
        }
        parts.extensions.insert(connection);
        let is_post = parts.method == Method::POST;
        let id = parts.headers.get(SESSION).map(HeaderValue::as_bytes);
        let mut id = id.map(|id| SessionId::from(String::from_utf8_lossy(id)));
        // A server that another program runs has not done this yet.
        mcp.take_over().await;
        let mut sent = Bytes::new();
        if is_post {
            let request = Request::from_parts(parts.clone(), body);
            let read = body::read(request, super::lines::MAX_LINE).await?;
            let (body, held) = read.into_parts();
            sent = body.into();
            // The body counts until the request has its reply, even if the client no longer waits.
            parts.extensions.insert(Arc::new(held));
        }
        // A batch is an array, which is refused here because a message is an object.
        let message = match is_post.then(|| Message::read(&sent)).transpose() {
            Ok(message) => message,
            Err(error) => return Ok(broken(&sent, error.is_data(), &error)),
        };
        let begins = message.as_ref().is_some_and(Message::is_initialize);
        if let Some(message) = message.as_ref().filter(|_| begins) {
            if message.parse().is_err() {
                return Ok(broken(&sent, true, &message.fault()));
            }
            // A client that begins anew may still send the id of a session that has ended.
            parts.headers.remove(SESSION);
            id = None;
        }
        if let Some(id) = &id {
            // A session of another token is answered as if it did not exist. The same reply tells a client that its own session
            // has ended.
            let gone = || {
                let detail = "there is no such session; begin a new one";
                Problem::new(Kind::NOT_FOUND, detail)
            };
            let session = mcp.sessions.find(id, &principal).ok_or_else(gone)?;
            if let Some(named) = named.as_ref().filter(|named| **named != session.chat) {
                let detail = format!(
                    "this session is of the chat {}: begin another one for the chat {named}",
                    session.chat
                );
                return Err(Problem::broken_request(detail));
            }
            if parts.method == Method::DELETE {
                mcp.sessions.close(id).await;
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
            let last = last_event(&parts.headers).filter(|_| parts.method == Method::GET);
            if last.is_some_and(|last| !mcp.sessions.goes_on(id, last)) {
                // An empty stream would bring the client back for ever, because it has not seen the end of its request.
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
            let (again, principal) = (mcp.clone(), session.principal.clone());
            let handler = move || again.handler(principal);
            let revived = mcp.sessions.revive(id, handler, mcp.closed.child_token());
            revived.await.map_err(|_| gone())?;
            parts.extensions.insert(session);
        }
        let may_take_long = is_post && id.is_none() && !begins;
        let mut manager = Manager::of(&mcp.sessions);
        if begins {
            if sent.len() > MAX_INITIALIZE {
                let detail = format!(
                    "the message that begins a session has {} bytes, and may have {MAX_INITIALIZE}",
                    sent.len()
                );
                return Err(Problem::new(Kind::TOO_LARGE, detail));
            }
            let session;
            (session, manager) = match mcp.sessions.prepare(&principal, named) {
                Ok(prepared) => prepared,
                Err(error) => return Ok(no_session(&error)),
            };
            parts.extensions.insert(session);
        }
        let mut bytes = sent.clone();
        if let Some(message) = &message {
            if let Some(text) = message.arguments() {
                let written = Written(sent.slice_ref(text.as_bytes()));
                parts.extensions.insert(written);
            }
            if let Some(usual) = message.without_odd_arguments() {
                bytes = usual.into();
            }
        }
        let is_json = parts.headers.get(CONTENT_TYPE).is_some_and(|kind| {
            let kind = kind.as_bytes().to_ascii_lowercase();
            kind.starts_with(b"application/json")
        });
        // Only replies to requests are waited for: the stream of a session has no end of its own.
        let reply = is_post.then(|| mcp.replies.token());
        let request = Request::from_parts(parts, Full::new(bytes));
        let service = mcp.service(principal, manager);
        let handling = async move { service.handle(request).await };
        let response = match may_take_long {
            true => keepalive::in_time(handling).await,
            false => handling.await.map(Body::new),
        };
        if let Some(message) = message
            && is_json
            && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        {
            // The client sent JSON, so the reply says that the JSON is no message.
            return Ok(broken(&sent, true, &message.fault()));
        }
        Ok(response.map(|body| Body::new(Holding::new(Body::new(body), reply))))
    }
}

fn no_session(error: &NoSession) -> Response {
    let kind = match error {
        NoSession::Full => Kind::TOO_MANY_SESSIONS,
        NoSession::NoChat(_) => Kind::FOREIGN_CHAT,
    };
    let mut response = Problem::new(kind, error.to_string()).into_response();
    if matches!(error, NoSession::Full) {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("30"));
    }
    response
}

/// Returns the reply to a body that is no message, although it may be JSON.
fn broken(body: &[u8], is_json: bool, error: &impl Display) -> Response {
    let (code, form) = match is_json {
        true => (ErrorCode::INVALID_REQUEST, "one message of JSON-RPC 2.0"),
        false => (ErrorCode::PARSE_ERROR, "valid JSON"),
    };
    let text = format!("the body is not {form}: {error}");
    let body = errors::response(&ids::of(body), code, &text);
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}
