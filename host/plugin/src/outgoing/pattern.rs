//! Where an operator lets a plugin send requests.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::address::Allowance;
use super::destination::{Destination, Host, HostError, Scheme, split};

/// The prefix of an entry whose names may resolve to private addresses.
pub(super) const PRIVATE: &str = "private:";

/// Where requests may go: `[private:][scheme://]host[:port]`.
///
/// - The scheme is `http` or `https`; without one it is `https`, and only that.
/// - The host is a name, or `*.example.com`, which is every name below `example.com` but not that name itself, or an address
///   (IPv6 in brackets), or `*`, which is every host with a public address that is not
///   this machine's. Upper case and a dot at the end mean nothing.
/// - Without a port it is the scheme's own.
///
/// A name never leads to an address that is not public, whatever it resolves to. Two kinds of entries do: an address stands
/// for exactly itself (`http://10.0.0.7:8080`), and `private:` before the entry allows its names the addresses of the own
/// machine and of private networks (`private:http://localhost:8080`, `private:*.corp.example`), but neither link-local ones,
/// where clouds serve credentials, nor any that have a special meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    private: bool,
    scheme: Scheme,
    hosts: Hosts,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Hosts {
    /// Every host that is public.
    Any,
    /// Every name that ends with a dot and this.
    Below(String),
    Exactly(Host),
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} does not say where requests may go: {problem}. Write [scheme://]host[:port], such as \"api.example.com\", \"*.example.com\" or \"http://10.0.0.7:8080\""
)]
pub struct PatternError {
    /// The text.
    text: String,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("the scheme must be http or https")]
    Scheme,
    #[error("a * stands alone, or before the first dot of a name")]
    Wildcard,
    #[error(
        "`private:` needs hosts with names, as an address stands for itself and * means public ones"
    )]
    Private,
    #[error("no connection can be made to that address")]
    Unusable,
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Pattern {
    /// Returns which addresses a request to this destination may reach, if it may be sent at all.
    pub(super) fn allows(&self, destination: &Destination) -> Option<Allowance> {
        if (self.scheme, self.port) != (destination.scheme, destination.port) {
            return None;
        }
        match (&self.hosts, &destination.host) {
            (Hosts::Any, _) => Some(Allowance::Public),
            (Hosts::Below(suffix), Host::Name(name)) => {
                let below = name.strip_suffix(suffix.as_str())?;
                (below.len() > 1 && below.ends_with('.')).then_some(self.names())
            }
            (Hosts::Below(_), Host::Ip(_)) => None,
            (Hosts::Exactly(host), other) if host == other => match host {
                Host::Name(_) => Some(self.names()),
                Host::Ip(_) => Some(Allowance::Itself),
            },
            (Hosts::Exactly(_), _) => None,
        }
    }

    fn names(&self) -> Allowance {
        if self.private {
            Allowance::Private
        } else {
            Allowance::Public
        }
    }

    fn parse(text: &str) -> Result<Self, Problem> {
        let (private, rest) = match text.strip_prefix(PRIVATE) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (scheme, rest) = match rest.split_once("://") {
            Some((scheme, rest)) => (Scheme::parse(scheme).ok_or(Problem::Scheme)?, rest),
            None => (Scheme::Https, rest),
        };
        let (host, port) = split(rest)?;
        let hosts = match (host.strip_prefix('*'), host.strip_prefix("*.")) {
            (Some(""), _) => Hosts::Any,
            (_, Some(suffix)) if !suffix.contains('*') => match Host::parse(suffix)? {
                Host::Name(suffix) => Hosts::Below(suffix),
                Host::Ip(_) => return Err(Problem::Wildcard),
            },
            _ if host.contains('*') => return Err(Problem::Wildcard),
            _ => Hosts::Exactly(Host::parse(host)?),
        };
        if private && matches!(hosts, Hosts::Any | Hosts::Exactly(Host::Ip(_))) {
            return Err(Problem::Private);
        }
        if matches!(&hosts, Hosts::Exactly(Host::Ip(address)) if is_unusable(*address)) {
            return Err(Problem::Unusable);
        }
        Ok(Self {
            private,
            scheme,
            hosts,
            port: port.unwrap_or_else(|| scheme.port()),
        })
    }
}

/// Whether an address is none of one machine.
fn is_unusable(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    address.is_unspecified() || address.is_multicast() || broadcast
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Self::parse(text).map_err(|problem| PatternError {
            text: text.to_owned(),
            problem,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.private {
            formatter.write_str(PRIVATE)?;
        }
        write!(formatter, "{}://", self.scheme)?;
        match &self.hosts {
            Hosts::Any => formatter.write_str("*")?,
            Hosts::Below(suffix) => write!(formatter, "*.{suffix}")?,
            Hosts::Exactly(host) => host.fmt(formatter)?,
        }
        if self.port != self.scheme.port() {
            write!(formatter, ":{}", self.port)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
