//! The reasons why an HTTP request is refused.

use hyper::StatusCode;

use super::error::Unreached;
use crate::rules::Target;

/// A reason why an HTTP request is refused. Displays as the text for the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Unreached(#[from] Unreached),
    #[error(
        "toolhost: this is the proxy of commands: send CONNECT host:port, or a request with an absolute http:// URI"
    )]
    NotForProxies,
    #[error("toolhost: the request has several Host headers: send one")]
    SeveralHosts,
    #[error("toolhost: the request has a transfer coding other than chunked: send it without")]
    TransferCoding,
    #[error("toolhost: {target} gave no response: {error}")]
    Exchange { target: Target, error: hyper::Error },
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Unreached(unreached) => unreached.why.status(),
            Self::NotForProxies | Self::SeveralHosts => StatusCode::BAD_REQUEST,
            Self::TransferCoding => StatusCode::NOT_IMPLEMENTED,
            Self::Exchange { .. } => StatusCode::BAD_GATEWAY,
        }
    }
}
