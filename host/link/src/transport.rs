//! The transport of requests to an agent.

use std::time::Duration;
use std::{fmt, io};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt as _, Full};
use hyper::{HeaderMap, Method, StatusCode};
use toolhost_call::client;

/// The body of an answer, which may be a stream. Its errors are texts for the log.
pub type Body = UnsyncBoxBody<Bytes, String>;

/// The body of a request that is a stream.
pub(crate) type Outgoing = BoxBody<Bytes, io::Error>;

/// The body of a request.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// Bytes that are there already.
    Bytes(Bytes),
    /// Bytes that come while the answer is read.
    Stream(Outgoing),
}

impl RequestBody {
    /// Returns the body of a request that has none.
    pub(crate) fn empty() -> Self {
        Self::Bytes(Bytes::new())
    }

    /// Returns it as one type.
    pub(crate) fn into_body(self) -> Outgoing {
        match self {
            Self::Bytes(bytes) => Full::new(bytes).map_err(|never| match never {}).boxed(),
            Self::Stream(body) => body,
        }
    }
}

/// A request to an agent.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path, from `/` on.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: RequestBody,
    /// How long to wait for the head of the answer.
    pub(crate) within: Duration,
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Answer {
    /// Makes the answer of a response, whose body fails with the cause of its error alone.
    pub(crate) fn of<B>(response: hyper::Response<B>) -> Self
    where
        B: hyper::body::Body<Data = Bytes, Error: std::error::Error + 'static> + Send + 'static,
    {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: body
                .map_err(|error| client::cause(&error).to_string())
                .boxed_unsync(),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendError {
    /// The agent did not get the request.
    #[error("{0}")]
    NotSent(String),
    /// The agent did not get the request, and will not get another one: an operator has to change something first.
    #[error("{0}")]
    Hopeless(String),
    /// The agent may have got the request.
    #[error("{0}")]
    Broken(String),
}

/// A way to an agent, which adds what authenticates the host.
pub(crate) trait Transport: fmt::Debug + Send + Sync {
    /// Sends a request and returns the answer as soon as its head is there.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Answer, SendError>>;

    /// Returns the agent that gets the requests, for errors.
    fn agent(&self) -> &str;
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Answer");
        shown.field("status", &self.status).finish_non_exhaustive()
    }
}
