//! Rules: the hosts and ports that commands may reach.

use std::fmt;
use std::net::IpAddr;

use crate::address::Allowance;
use crate::destination::{Host, HostError, split};
use crate::hosts::{HostPattern, HostPatternError};

/// The host and the port of a connection. Displays as `example.com:443` or `[::1]:443`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// A list of hosts that commands may reach.
///
/// - An entry is a name, an address (IPv6 in brackets), `*.example.com` (every name below `example.com`) or `*` (every host). It may
///   end with a port, as in `example.com:443`; without one, it allows every port. Case and a dot at the end do not matter.
/// - A name allows connections to its public addresses only. Addresses of this machine's interfaces are not public.
/// - An entry that is an address allows this address, of any kind. A listed name may then lead to it as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    hosts: HostPattern,
    /// `None`: every port.
    port: Option<u16>,
}

/// An entry that is not valid, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} names no hosts that commands may reach: {problem}. Write a host and, if needed, a port, such as \"github.com\", \"*.example.com:443\" or \"10.0.0.5:5432\""
)]
pub struct RuleError {
    text: String,
    problem: HostPatternError,
}

impl Rules {
    /// Parses the entries of a list.
    ///
    /// # Errors
    ///
    /// If an entry is not valid, such as `127.1`, which is no address in its usual form.
    pub fn new<S: AsRef<str>>(hosts: &[S]) -> Result<Self, RuleError> {
        let entries = hosts.iter().map(|text| {
            let text = text.as_ref();
            Entry::parse(text).map_err(|problem| RuleError {
                text: text.to_owned(),
                problem,
            })
        });
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    /// Returns whether an entry matches the target. Before connecting, check the address with [`Rules::admits`] as well.
    pub(crate) fn lists(&self, target: &Target) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.hosts.matches(&target.host) && entry.has_port(target.port))
    }

    /// Returns whether a connection to a listed target may use this address. `own` are the addresses of this machine.
    pub(crate) fn admits(&self, address: IpAddr, port: u16, own: &[IpAddr]) -> bool {
        let mut entries = self.entries.iter();
        Allowance::Public.admits(address, own)
            || entries.any(|entry| entry.hosts.address() == Some(address) && entry.has_port(port))
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Self, HostPatternError> {
        let (hosts, port) = split(text)?;
        Ok(Self {
            hosts: HostPattern::parse(hosts)?,
            port,
        })
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.is_none_or(|listed| listed == port)
    }
}

impl Target {
    /// Parses `host[:port]`. Without a port, the target gets the default port; without a default, that is an error.
    pub(crate) fn parse(authority: &str, default: Option<u16>) -> Result<Self, HostError> {
        let (host, port) = split(authority)?;
        let none = || HostError::Port(String::new());
        Ok(Self {
            host: Host::parse(host)?,
            port: port.or(default).ok_or_else(none)?,
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(hosts: &[&str]) -> Rules {
        Rules::new(hosts).unwrap()
    }

    #[test]
    fn hosts_and_ports_are_matched() {
        for (entry, target, listed) in [
            ("github.com", "github.com:443", true),
            ("github.com", "GitHub.com.:22", true),
            ("github.com", "www.github.com:443", false),
            ("github.com", "github.com.evil.example:443", false),
            ("github.com", "notgithub.com:443", false),
            ("github.com:443", "github.com:443", true),
            ("github.com:443", "github.com:22", false),
            ("*.example.com", "a.b.example.com:1", true),
            ("*.example.com", "example.com:1", false),
            ("*.example.com", "notexample.com:1", false),
            ("*.example.com:443", "a.example.com:80", false),
            ("10.0.0.5:5432", "10.0.0.5:5432", true),
            ("10.0.0.5:5432", "10.0.0.5:5433", false),
            ("10.0.0.5", "[::ffff:10.0.0.5]:1", true),
            ("[fd00::5]:1", "[fd00:0::5]:1", true),
            ("[::ffff:10.0.0.5]", "10.0.0.5:1", true),
            ("*", "github.com:1", true),
        ] {
            let target = Target::parse(target, None).unwrap();
            assert_eq!(rules(&[entry]).lists(&target), listed, "{entry} {target}");
        }
        assert!(!Rules::default().lists(&Target::parse("a:1", None).unwrap()));
    }

    #[test]
    fn private_addresses_are_admitted_if_the_list_has_them() {
        let rules = rules(&["db.example", "10.0.0.5:5432", "169.254.169.254"]);
        let admits = |address: &str, port| rules.admits(address.parse().unwrap(), port, &[]);
        assert!(admits("1.1.1.1", 80));
        assert!(admits("10.0.0.5", 5432));
        assert!(!admits("10.0.0.5", 5433));
        assert!(!admits("10.0.0.6", 5432));
        assert!(admits("169.254.169.254", 80));
        assert!(!admits("127.0.0.1", 80));
        let own = ["1.1.1.1".parse().unwrap()];
        assert!(!rules.admits(own[0], 80, &own));
    }

    #[test]
    fn errors_of_entries_say_what_to_write() {
        for entry in [
            "",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "a:0",
            "a:b",
            "::1",
            "a b",
            "0.0.0.0",
        ] {
            assert!(Rules::new(&[entry]).is_err(), "{entry:?}");
        }
        assert_eq!(
            Rules::new(&["github.com", "127.1"])
                .unwrap_err()
                .to_string(),
            "\"127.1\" names no hosts that commands may reach: \"127.1\" is no address in its usual form: write four decimal \
             numbers, or IPv6 in brackets. Write a host and, if needed, a port, such as \"github.com\", \"*.example.com:443\" or \
             \"10.0.0.5:5432\""
        );
    }
}
