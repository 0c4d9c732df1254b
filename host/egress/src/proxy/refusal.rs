//! Reasons why a request over HTTP is not served.

use hyper::StatusCode;

use super::error::Unreached;
use crate::rules::Target;

/// A reason why a request is not served. Displays as the text for the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Unreached(#[from] Unreached),
    #[error(
        "toolhost: this is the proxy of commands: send CONNECT host:port, or a request with an absolute http:// URI"
    )]
    NotForProxies,
    #[error("toolhost: the request has several headers Host: send one")]
    Hosts,
    #[error("toolhost: the request has a transfer coding besides chunked: send it without")]
    Coding,
    #[error("toolhost: {target} gave no response: {error}")]
    Exchange { target: Target, error: hyper::Error },
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Unreached(unreached) => unreached.why.status(),
            Self::NotForProxies | Self::Hosts => StatusCode::BAD_REQUEST,
            Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::Exchange { .. } => StatusCode::BAD_GATEWAY,
        }
    }
}
