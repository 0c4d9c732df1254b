//! Why one attempt of an operation failed, and whether the next one may go better.

use hyper::StatusCode;

use crate::explain;
use crate::transport::SendError;

/// The outcome of one attempt that is not the last.
pub(crate) enum Failure {
    /// The agent did not get the request.
    NotSent(String),
    /// The agent was away a moment ago, and nothing was tried.
    Away(String),
    /// The agent may have got the request.
    Broken(String),
    /// The agent refused, and does the same the next time.
    Refused(String),
    /// The agent does not know whether the operation was done, and does not know it the next time.
    Unclear(String),
    /// The agent has no room at present.
    Busy(String),
    /// The host has no room for the answer at present.
    NoRoom(String),
    /// It is another run of the agent than the one that the request names.
    OtherRun,
    /// An earlier run of the agent may have done it, and the present run does not remember that.
    Forgotten,
}

impl Failure {
    /// Returns what is told of it.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::NotSent(text)
            | Self::Away(text)
            | Self::Broken(text)
            | Self::Refused(text)
            | Self::Unclear(text)
            | Self::Busy(text)
            | Self::NoRoom(text) => text,
            Self::OtherRun | Self::Forgotten => {
                "the agent was started anew meanwhile, and does not know whether this was done"
                    .into()
            }
        }
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::NotSent(text) => Self::NotSent(text),
            SendError::Hopeless(text) => Self::Refused(text),
            SendError::Broken(text) => Self::Broken(text),
        }
    }
}

/// Returns the failure that a status other than 200 is.
pub(crate) fn refused(agent: &str, status: StatusCode, body: &[u8]) -> Failure {
    let text = explain::refused(agent, status, body);
    match status {
        StatusCode::PRECONDITION_FAILED => Failure::OtherRun,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Failure::Busy(text),
        // A proxy that lost the agent.
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => Failure::Broken(text),
        // The agent failed, or keeps the answer no longer.
        StatusCode::INTERNAL_SERVER_ERROR | StatusCode::GONE => Failure::Unclear(text),
        _ => Failure::Refused(text),
    }
}
