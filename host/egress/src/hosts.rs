//! Patterns of hosts: a name, all names below a name, an address, or all hosts.

use std::fmt;
use std::net::IpAddr;

use crate::destination::{Host, HostError};

/// A set of hosts: a name, an address (IPv6 in brackets), `*.example.com`, or `*`.
///
/// `*.example.com` matches every name below `example.com`, but not that name itself. `*` matches every host; its users must restrict it
/// to public addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// Every host.
    Any,
    /// Every name that ends with a dot and this suffix.
    Below(String),
    /// One name or address.
    Exactly(Host),
}

/// A reason why a text is no pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternError {
    /// The text contains a `*` that is not at the beginning of a name.
    #[error("a * must stand alone, or before the first dot of a name")]
    Wildcard,
    /// The address is unspecified, multicast or broadcast.
    #[error("no connection can be made to that address")]
    Unusable,
    /// The text names no host.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl HostPattern {
    /// Parses a pattern without a port.
    ///
    /// # Errors
    ///
    /// See [`HostPatternError`].
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        match (text.strip_prefix('*'), text.strip_prefix("*.")) {
            (Some(""), _) => Ok(Self::Any),
            (_, Some(suffix)) if !suffix.contains('*') => match Host::parse(suffix)? {
                Host::Name(suffix) => Ok(Self::Below(suffix)),
                Host::Ip(_) => Err(HostPatternError::Wildcard),
            },
            _ if text.contains('*') => Err(HostPatternError::Wildcard),
            _ => match Host::parse(text)? {
                Host::Ip(address) if is_unusable(address) => Err(HostPatternError::Unusable),
                host => Ok(Self::Exactly(host)),
            },
        }
    }

    /// Returns whether the pattern matches a host.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Below(suffix), Host::Name(name)) => name
                .strip_suffix(suffix.as_str())
                .is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            (Self::Below(_), Host::Ip(_)) => false,
            (Self::Exactly(listed), host) => listed == host,
        }
    }

    /// Returns the address if the pattern is an address.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Exactly(Host::Ip(address)) => Some(*address),
            Self::Exactly(Host::Name(_)) | Self::Any | Self::Below(_) => None,
        }
    }
}

/// Returns whether an address cannot be that of a single machine: it is unspecified, multicast or broadcast.
fn is_unusable(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    address.is_unspecified() || address.is_multicast() || broadcast
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("*"),
            Self::Below(suffix) => write!(formatter, "*.{suffix}"),
            Self::Exactly(host) => host.fmt(formatter),
        }
    }
}
