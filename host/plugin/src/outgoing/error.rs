//! Errors of requests that got no response, or only a part of one.

use std::io;

use super::pattern::PRIVATE;
use toolhost_call::metrics::LimitKind;
use toolhost_egress::{Destination, Host, HostError, ReachError};

/// A quota that was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .kind.reached(*.most))]
pub struct Limit {
    /// The kind of the limit.
    pub kind: LimitKind,
    /// How many requests or bytes there may be.
    pub most: u64,
}

/// A reason why a request got no response, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The URL names no host to which anything could be sent.
    #[error("the host of the request cannot be used: {0}")]
    Host(#[from] HostError),
    /// The scheme is not `http` or `https`, or there is none.
    #[error("requests are sent over http and https only")]
    Scheme,
    /// The method makes no sense here: `CONNECT` asks for a tunnel.
    #[error("requests with the method {0} are not sent")]
    Method(String),
    /// No pattern allows the destination.
    #[error("the plugin was not granted requests to {0}: add \"{0}\" to its grant `http`")]
    NotGranted(Destination),
    /// The host has only addresses that are not public, or that are this machine's.
    #[error(
        "{0} is no public address of another machine: if that is intended, add \"{prefix}{0}\" to the plugin's grant `http`",
        prefix = private_prefix(.0)
    )]
    Prohibited(Destination),
    /// The addresses of this machine are not known, and one of them could be meant.
    #[error("the addresses of this machine cannot be listed: {0}")]
    Interfaces(io::Error),
    /// A limit of the call is used up.
    #[error(transparent)]
    Limit(#[from] Limit),
    /// The request waited as long as a connection may take, because too many other requests were running.
    #[error("the call has as many requests under way as it may")]
    Crowded,
    /// The name has no address.
    #[error("the name was not found: {0}")]
    Lookup(io::Error),
    /// Finding the address took too long.
    #[error("finding the address took too long")]
    LookupTimeout,
    /// The destination does not accept a connection.
    #[error("no connection could be made: {0}")]
    Connect(io::Error),
    /// Connecting took too long.
    #[error("making the connection took too long")]
    ConnectTimeout,
    /// The server cannot prove that it is the destination, or it does not speak TLS.
    #[error("no TLS connection could be made: {0}")]
    Tls(io::Error),
    /// No response began in time.
    #[error("the response took too long")]
    ResponseTimeout,
    /// The response went silent.
    #[error("the response stopped for too long")]
    ReadTimeout,
    /// The connection ended within the response.
    #[error("the connection ended within the response")]
    Incomplete,
    /// The request or the response breaks the rules of HTTP.
    #[error("the exchange failed: {0}")]
    Http(hyper::Error),
}

/// Returns the prefix of a grant that allows private addresses. For an address it is empty: an address stands for itself.
fn private_prefix(destination: &Destination) -> &'static str {
    match destination.host {
        Host::Name(_) => PRIVATE,
        Host::Ip(_) => "",
    }
}

impl SendError {
    /// Returns whether the error refuses a destination that the plugin was not granted.
    pub(super) fn is_denial(&self) -> bool {
        matches!(self, Self::NotGranted(_) | Self::Prohibited(_))
    }

    /// Returns the reason why a destination is not reached.
    pub(super) fn reach(error: ReachError, destination: &Destination) -> Self {
        match error {
            ReachError::Lookup(error) => Self::Lookup(error),
            ReachError::LookupTimeout => Self::LookupTimeout,
            ReachError::Interfaces(error) => Self::Interfaces(error),
            ReachError::Prohibited => Self::Prohibited(destination.clone()),
            ReachError::Connect(error) => Self::Connect(error),
            ReachError::ConnectTimeout => Self::ConnectTimeout,
        }
    }

    /// Returns the reason why an exchange failed. A limit that the call has reached takes precedence, because it ends every
    /// connection.
    pub(super) fn explain(error: hyper::Error, reached: Option<Limit>) -> Self {
        match reached {
            Some(limit) if limit.kind == LimitKind::HttpBytes => Self::Limit(limit),
            _ if error.is_incomplete_message() || ended_early(&error) => Self::Incomplete,
            _ => Self::Http(error),
        }
    }
}

/// Returns whether the connection ended within a body, which is an error of its own in hyper.
fn ended_early(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::UnexpectedEof)
}
