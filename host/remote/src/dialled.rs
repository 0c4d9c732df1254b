//! Agents that connect to this host, and the requests that go to them over these connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolhost_call::client;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;

use crate::route::Route;
use crate::transport::{Answer, Request, SendError, Transport};

/// The most agents that are connected at once.
const MOST: usize = 1_000;

/// How long one attempt waits for an agent that is not connected. It is tried again after that.
const CONNECTS_WITHIN: Duration = Duration::from_secs(1);

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

/// The agents that are connected to this host.
#[derive(Debug, Default)]
pub struct Dialled {
    agents: Mutex<HashMap<WorkspaceName, Connected>>,
    /// Changed whenever an agent connects.
    arrivals: watch::Sender<()>,
    /// Gets the name of each agent that connects, or whose connection ends.
    changes: Mutex<Option<UnboundedSender<WorkspaceName>>>,
}

#[derive(Debug)]
struct Connected {
    transport: Arc<dyn Transport>,
    /// Cancelled when another connection takes the place of this one.
    replaced: CancellationToken,
}

impl Dialled {
    /// Sends requests to an agent through this stream until it breaks, another connection of the same name replaces it, or `until` is
    /// ready. Returns why it ended.
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
        until: impl Future<Output = ()>,
    ) -> Result<&'static str, DialError> {
        let bearer = format!("Bearer {}", token.reveal());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| DialError::Token)?;
        authorization.set_sensitive(true);
        let shaking = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(alive.every)
            .keep_alive_timeout(alive.within)
            .keep_alive_while_idle(true)
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
            () = until => "its token is not valid any more",
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

    /// Returns the names of the agents that are connected.
    pub fn names(&self) -> Vec<WorkspaceName> {
        self.agents.lock().keys().cloned().collect()
    }

    /// Returns whether an agent of this name is connected.
    pub fn has(&self, name: &WorkspaceName) -> bool {
        self.agents.lock().contains_key(name)
    }

    /// Returns how many agents are connected.
    pub fn count(&self) -> usize {
        self.agents.lock().len()
    }

    fn get(&self, name: &WorkspaceName) -> Option<Arc<dyn Transport>> {
        let agents = self.agents.lock();
        agents.get(name).map(|agent| Arc::clone(&agent.transport))
    }
}

/// The agent of a name, whichever connection it has.
#[derive(Debug)]
pub(crate) struct ByName {
    pub(crate) name: WorkspaceName,
    pub(crate) dialled: Arc<Dialled>,
}

impl Route for ByName {
    fn find<'a>(
        &'a self,
        failed: Option<&'a Arc<dyn Transport>>,
    ) -> BoxFuture<'a, Result<Arc<dyn Transport>, SendError>> {
        Box::pin(async move {
            let mut arrivals = self.dialled.arrivals.subscribe();
            let good = || {
                let found = self.dialled.get(&self.name)?;
                let is_other = failed.is_none_or(|failed| !Arc::ptr_eq(failed, &found));
                is_other.then_some(found)
            };
            let arriving = async {
                loop {
                    if let Some(found) = good() {
                        return found;
                    }
                    if arrivals.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            };
            if let Ok(found) = timeout(CONNECTS_WITHIN, arriving).await {
                return Ok(found);
            }
            // The same connection may have become good again.
            self.dialled.get(&self.name).ok_or_else(|| {
                SendError::NotSent(format!(
                    "the agent {:?} is not connected: start it with `toolhost-agent --connect` and this name",
                    self.name.as_str()
                ))
            })
        })
    }

    fn is_there(&self) -> bool {
        self.dialled.has(&self.name)
    }

    fn arrives(&self) -> BoxFuture<'_, ()> {
        let mut arrivals = self.dialled.arrivals.subscribe();
        Box::pin(async move {
            while arrivals.changed().await.is_ok() {
                if self.dialled.has(&self.name) {
                    return;
                }
            }
            std::future::pending().await
        })
    }
}

/// Requests over a connection that an agent made.
#[derive(Debug)]
struct Reverse {
    sender: SendRequest<Full<Bytes>>,
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
            let mut asked = hyper::Request::new(Full::new(request.body));
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
