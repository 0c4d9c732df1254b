//! Agents that connect to this host, and the requests that go to them over these connections.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolhost_call::client;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;

use crate::stream;
use crate::through::Passages;
use crate::transport::{Answer, Body, Outgoing, Request, RequestBody, SendError, Transport};
use crate::tunnel::{CONNECTION_WINDOW, STREAM_WINDOW};

/// The most agents that are connected at once.
const MOST: usize = 1_000;

/// The longest time for the answer to a request of another host. No operation waits as long.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How often the connection is tried, and how long an answer takes at most.
#[derive(Clone, Copy, Debug)]
pub struct Alive {
    /// The time between two questions.
    pub every: Duration,
    /// The time until the answer.
    pub within: Duration,
}

/// An agent that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// There are too many.
    #[error("{MOST} agents are connected, which is the most")]
    TooMany,
    /// The token cannot be sent in a header.
    #[error("the token of the agent has characters that no token has")]
    Token,
}

/// Why a request of another host got no answer of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// The agent is not connected to this host, and did not get the request.
    #[error("the agent is not connected to this host")]
    NotConnected,
    /// The agent may have got the request.
    #[error("{0}")]
    Broken(String),
}

/// The body of a request of another host.
#[derive(Debug)]
pub enum PassedBody {
    /// All of it.
    Bytes(Bytes),
    /// Bytes that come while the answer is read.
    Stream(axum::body::Body),
}

/// The agents that are connected to this host.
#[derive(Debug, Default)]
pub struct Dialled {
    agents: Mutex<HashMap<WorkspaceName, Connected>>,
    /// Changed whenever an agent connects.
    arrivals: watch::Sender<()>,
    /// Finds agents that are connected to other hosts, if this host can reach those.
    passages: OnceLock<Arc<dyn Passages>>,
    /// Gets the name of each agent that connects, or whose connection ends.
    changes: Mutex<Option<UnboundedSender<WorkspaceName>>>,
}

#[derive(Debug)]
struct Connected {
    transport: Arc<dyn Transport>,
    /// The token with which the agent lets hosts in.
    token: Secret,
    /// Cancelled when another connection takes the place of this one.
    replaced: CancellationToken,
}

impl Dialled {
    /// Sends requests to an agent through this stream until it breaks, another connection of the same name replaces it, or `until` says
    /// why it ends. Returns why it ended.
    ///
    /// # Errors
    ///
    /// If the agent cannot be taken.
    pub async fn serve(
        &self,
        name: &WorkspaceName,
        token: &Secret,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        alive: Alive,
        until: impl Future<Output = &'static str>,
    ) -> Result<&'static str, DialError> {
        let bearer = format!("Bearer {}", token.reveal());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| DialError::Token)?;
        authorization.set_sensitive(true);
        // The tasks of the connection end with this function, and not with its last request.
        let runs = CancellationToken::new();
        let _ends = runs.clone().drop_guard();
        let shaking = http2::Builder::new(Until(runs))
            .timer(TokioTimer::new())
            .keep_alive_interval(alive.every)
            .keep_alive_timeout(alive.within)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream));
        let Ok(Ok((sender, connection))) = timeout(alive.within, shaking).await else {
            return Ok("it speaks no HTTP/2");
        };
        let replaced = CancellationToken::new();
        let transport: Arc<dyn Transport> = Arc::new(Reverse {
            sender,
            authorization,
            shown: format!("the agent {name:?}", name = name.as_str()),
        });
        {
            let mut agents = self.agents.lock();
            if agents.len() >= MOST && !agents.contains_key(name) {
                return Err(DialError::TooMany);
            }
            let connected = Connected {
                transport: Arc::clone(&transport),
                token: token.clone(),
                replaced: replaced.clone(),
            };
            // The agent noticed before this host that the earlier connection broke.
            if let Some(earlier) = agents.insert(name.clone(), connected) {
                earlier.replaced.cancel();
            }
        }
        self.arrivals.send_replace(());
        self.tell(name);
        let why = tokio::select! {
            ended = connection => match ended {
                Ok(()) => "the agent closed the connection",
                Err(error) if error.is_timeout() => "the agent did not answer any more",
                Err(_) => "the connection broke",
            },
            () = replaced.cancelled() => "the agent connected anew",
            why = until => why,
        };
        self.remove(name, &transport);
        Ok(why)
    }

    /// Removes a connection that has ended, unless another one has taken its place.
    fn remove(&self, name: &WorkspaceName, transport: &Arc<dyn Transport>) {
        let mut agents = self.agents.lock();
        let present = agents.get(name);
        if present.is_some_and(|present| Arc::ptr_eq(&present.transport, transport)) {
            agents.remove(name);
            drop(agents);
            self.tell(name);
        }
    }

    fn tell(&self, name: &WorkspaceName) {
        if let Some(changes) = &*self.changes.lock() {
            _ = changes.send(name.clone());
        }
    }

    /// Returns a receiver of the name of each agent that connects from now on, or whose connection ends. It replaces an earlier one.
    pub fn changes(&self) -> UnboundedReceiver<WorkspaceName> {
        let (sender, receiver) = unbounded_channel();
        *self.changes.lock() = Some(sender);
        receiver
    }

    /// Returns the names of the agents that are connected, and the tokens with which they let hosts in.
    pub fn all(&self) -> Vec<(WorkspaceName, Secret)> {
        let agents = self.agents.lock();
        let all = agents.iter();
        all.map(|(name, agent)| (name.clone(), agent.token.clone()))
            .collect()
    }

    /// Returns the token with which a connected agent lets hosts in; `None` if no agent of this name is connected.
    pub fn token(&self, name: &WorkspaceName) -> Option<Secret> {
        let agents = self.agents.lock();
        agents.get(name).map(|agent| agent.token.clone())
    }

    /// Sends a request of another host to an agent. Returns the answer when its head is there.
    ///
    /// # Errors
    ///
    /// See [`PassError`].
    pub async fn pass(
        &self,
        name: &WorkspaceName,
        request: hyper::Request<PassedBody>,
    ) -> Result<hyper::Response<Body>, PassError> {
        let transport = self.get(name).ok_or(PassError::NotConnected)?;
        let (parts, body) = request.into_parts();
        let body = match body {
            PassedBody::Bytes(bytes) => RequestBody::Bytes(bytes),
            PassedBody::Stream(body) => RequestBody::Stream(stream::passed(body)),
        };
        let request = Request {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            headers: parts.headers,
            body,
            // The other host knows how long it waits.
            within: LONGEST,
        };
        let answer = transport.send(request).await;
        let answer = answer.map_err(|error| match error {
            SendError::NotSent(_) => PassError::NotConnected,
            SendError::Hopeless(text) | SendError::Broken(text) => PassError::Broken(text),
        })?;
        let mut response = hyper::Response::new(answer.body);
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }

    /// Returns whether an agent of this name is connected.
    pub fn has(&self, name: &WorkspaceName) -> bool {
        self.agents.lock().contains_key(name)
    }

    /// Returns how many agents are connected.
    pub fn count(&self) -> usize {
        self.agents.lock().len()
    }

    /// Has agents found that are connected to other hosts. The first value counts.
    pub fn find_elsewhere(&self, passages: Arc<dyn Passages>) {
        _ = self.passages.set(passages);
    }

    /// Returns whether agents of other hosts can be used: then an agent may leave this host while calls run on it.
    pub fn reaches_elsewhere(&self) -> bool {
        self.passages.get().is_some()
    }

    pub(crate) fn passages(&self) -> Option<&Arc<dyn Passages>> {
        self.passages.get()
    }

    /// Returns a receiver of the moments at which agents connect.
    pub(crate) fn arrivals(&self) -> watch::Receiver<()> {
        self.arrivals.subscribe()
    }

    pub(crate) fn get(&self, name: &WorkspaceName) -> Option<Arc<dyn Transport>> {
        let agents = self.agents.lock();
        agents.get(name).map(|agent| Arc::clone(&agent.transport))
    }
}

/// Runs the tasks of a connection until this token is cancelled.
#[derive(Clone)]
struct Until(CancellationToken);

impl<F> hyper::rt::Executor<F> for Until
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, task: F) {
        tokio::spawn(self.0.clone().run_until_cancelled_owned(task));
    }
}

/// Requests over a connection that an agent made.
#[derive(Debug)]
struct Reverse {
    sender: SendRequest<Outgoing>,
    authorization: HeaderValue,
    shown: String,
}

impl Transport for Reverse {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Answer, SendError>> {
        Box::pin(async move {
            let mut sender = self.sender.clone();
            let broken = |error: hyper::Error| {
                let cause = client::cause(&error);
                SendError::Broken(format!("the connection of {} broke: {cause}", self.shown))
            };
            if timeout(request.within, sender.ready()).await.is_err() || sender.is_closed() {
                let text = format!("{} is not connected any more", self.shown);
                return Err(SendError::NotSent(text));
            }
            let mut asked = hyper::Request::new(request.body.into_body());
            *asked.method_mut() = request.method;
            let uri = format!("http://localhost{}", request.path).parse();
            *asked.uri_mut() = uri.map_err(|error: hyper::http::uri::InvalidUri| {
                SendError::Hopeless(error.to_string())
            })?;
            *asked.headers_mut() = request.headers;
            let headers = asked.headers_mut();
            headers.insert(AUTHORIZATION, self.authorization.clone());
            headers.insert(HOST, HeaderValue::from_static("localhost"));
            let sent = timeout(request.within, sender.send_request(asked)).await;
            let Ok(answer) = sent else {
                let text = format!("{} did not answer in time", self.shown);
                return Err(SendError::Broken(text));
            };
            Ok(Answer::of(answer.map_err(broken)?))
        })
    }

    fn agent(&self) -> &str {
        &self.shown
    }
}
