//! Patterns: the destinations to which an operator lets a plugin send requests.

use std::fmt;
use std::str::FromStr;

use toolhost_egress::{
    Allowance, Destination, HostError, HostPattern, HostPatternError, Scheme, split,
};

/// The prefix of an entry whose names may resolve to private addresses.
pub(super) const PRIVATE: &str = "private:";

/// A set of destinations: `[private:][scheme://]host[:port]`.
///
/// - The scheme is `http` or `https`; the default is `https`.
/// - The host is a name, an address (IPv6 in brackets), `*.example.com`, or `*`. `*.example.com` is every name below
///   `example.com`, but not that name itself. `*` is every host with a public address that is not this machine's. Case and a
///   dot at the end do not matter.
/// - The default of the port is that of the scheme.
///
/// A request to a name reaches public addresses only, whatever the name resolves to. There are two exceptions. An address as
/// the host allows exactly that address (`http://10.0.0.7:8080`). The prefix `private:` also allows names to resolve to
/// addresses of this machine and of private networks (`private:http://localhost:8080`, `private:*.corp.example`). It never
/// allows link-local addresses, where clouds serve credentials, or addresses with another special meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    private: bool,
    scheme: Scheme,
    hosts: HostPattern,
    port: u16,
}

/// A text that is not a valid pattern, and why.
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
    #[error(
        "`private:` needs hosts with names, as an address stands for itself and * means public ones"
    )]
    Private,
    #[error(transparent)]
    Authority(#[from] HostError),
    #[error(transparent)]
    Hosts(#[from] HostPatternError),
}

impl Pattern {
    /// Returns which addresses a request to this destination may reach; `None` if the pattern does not allow the destination.
    pub(super) fn allows(&self, destination: &Destination) -> Option<Allowance> {
        if (self.scheme, self.port) != (destination.scheme, destination.port) {
            return None;
        }
        if !self.hosts.matches(&destination.host) {
            return None;
        }
        Some(match self.hosts.address() {
            Some(_) => Allowance::Itself,
            None if self.private => Allowance::Private,
            None => Allowance::Public,
        })
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
        let hosts = HostPattern::parse(host)?;
        if private && (hosts == HostPattern::Any || hosts.address().is_some()) {
            return Err(Problem::Private);
        }
        Ok(Self {
            private,
            scheme,
            hosts,
            port: port.unwrap_or_else(|| scheme.port()),
        })
    }
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
        write!(formatter, "{}://{}", self.scheme, self.hosts)?;
        if self.port != self.scheme.port() {
            write!(formatter, ":{}", self.port)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
