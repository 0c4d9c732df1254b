//! The reasons why a command does not reach a host, and their codes in HTTP and SOCKS5.

use std::io;

use hyper::StatusCode;

use crate::destination::HostError;
use crate::reach::ReachError;

/// A reason why a command does not reach a host.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The text names no host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The target is not in the list of hosts.
    #[error("it is not in the list of hosts (sandbox_network)")]
    NotListed,
    /// None of the host's addresses is public, and none is in the list.
    #[error(
        "it has no public address; to allow a private address, add that address to the list of hosts (sandbox_network)"
    )]
    NotPublic,
    /// The host could not be reached.
    #[error(transparent)]
    Reach(ReachError),
}

/// A host that a command did not reach, and the reason. Displays as the text for the client.
#[derive(Debug, thiserror::Error)]
#[error("toolhost: commands {} {target}: {why}", .why.verb())]
pub(super) struct Unreached {
    pub(super) target: String,
    pub(super) why: EgressError,
}

/// The codes in replies of SOCKS5 (RFC 1928).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Reply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    NetworkUnreachable = 3,
    HostUnreachable = 4,
    Refused = 5,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

impl From<ReachError> for EgressError {
    fn from(error: ReachError) -> Self {
        match error {
            ReachError::Prohibited => Self::NotPublic,
            error => Self::Reach(error),
        }
    }
}

impl EgressError {
    /// Returns whether the list of hosts is the reason, and not the network.
    pub fn is_denial(&self) -> bool {
        matches!(self, Self::NotListed | Self::NotPublic)
    }

    fn verb(&self) -> &'static str {
        match self {
            Self::NotListed | Self::NotPublic => "may not reach",
            Self::Host(_) | Self::Reach(_) => "cannot reach",
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Host(_) => StatusCode::BAD_REQUEST,
            Self::NotListed | Self::NotPublic => StatusCode::FORBIDDEN,
            Self::Reach(ReachError::LookupTimeout | ReachError::ConnectTimeout) => {
                StatusCode::GATEWAY_TIMEOUT
            }
            Self::Reach(_) => StatusCode::BAD_GATEWAY,
        }
    }

    pub(super) fn reply(&self) -> Reply {
        match self {
            Self::NotListed | Self::NotPublic => Reply::NotAllowed,
            Self::Reach(ReachError::Connect(error)) => match error.kind() {
                io::ErrorKind::ConnectionRefused => Reply::Refused,
                io::ErrorKind::NetworkUnreachable => Reply::NetworkUnreachable,
                io::ErrorKind::HostUnreachable => Reply::HostUnreachable,
                _ => Reply::Failure,
            },
            Self::Reach(
                ReachError::Lookup(_) | ReachError::LookupTimeout | ReachError::ConnectTimeout,
            ) => Reply::HostUnreachable,
            Self::Host(_) | Self::Reach(ReachError::Interfaces(_) | ReachError::Prohibited) => {
                Reply::Failure
            }
        }
    }
}
