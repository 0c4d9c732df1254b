//! The network of a policy: the hosts that commands may reach.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The hosts that commands may reach: `"all"`, `"none"`, or a list such as `["github.com", "*.crates.example", "10.0.0.5:5432"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// All hosts that this machine can reach.
    #[default]
    All,
    /// No hosts.
    None,
    /// These hosts, through a proxy. Each entry is `host` or `host:port`; `*.example.com` is every name below `example.com`.
    Hosts(Vec<String>),
}

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no network of the sandbox: write \"all\", \"none\" or hosts such as \"github.com\", \"*.example.com\" or \"10.0.0.5:5432\""
)]
pub struct NetworkError(String);

impl Network {
    /// Returns the network that allows only what both allow.
    pub(crate) fn narrow(&self, wish: &Self) -> Self {
        match (self, wish) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::All, other) | (other, Self::All) => other.clone(),
            (Self::Hosts(hosts), Self::Hosts(wish)) => {
                let wished = hosts.iter().filter(|host| is_covered(host, wish));
                let allowed = wish
                    .iter()
                    .filter(|host| !hosts.contains(host) && is_covered(host, hosts));
                Self::Hosts(wished.chain(allowed).cloned().collect())
            }
        }
    }

    /// Returns whether `outer` allows everything that `self` allows.
    #[cfg(test)]
    pub(crate) fn is_within(&self, outer: &Self) -> bool {
        match (self, outer) {
            (_, Self::All) | (Self::None, _) => true,
            (Self::All, _) => false,
            (Self::Hosts(hosts), Self::None) => hosts.is_empty(),
            (Self::Hosts(hosts), Self::Hosts(outer)) => {
                hosts.iter().all(|host| is_covered(host, outer))
            }
        }
    }
}

fn is_covered(host: &str, by: &[String]) -> bool {
    by.iter().any(|pattern| covers(pattern, host))
}

/// Returns whether `pattern` matches everything that `host` matches. Both are entries of a list.
fn covers(pattern: &str, host: &str) -> bool {
    if pattern == host {
        return true;
    }
    let ((pattern, port), (host, other_port)) = (split(pattern), split(host));
    let below = pattern.strip_prefix('*').is_some_and(|suffix| {
        let host = host.strip_prefix('*').unwrap_or(host);
        host.len() > suffix.len() && host.ends_with(suffix)
    });
    // `*` matches names only, and an address in brackets is none.
    below && port == other_port && !host.starts_with('[')
}

/// Returns the host and the port of an entry.
fn split(entry: &str) -> (&str, Option<&str>) {
    match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    }
}

/// Returns an entry in its normal form: in lower case, and without a dot at the end of its name.
fn normalize(text: &str) -> Result<String, NetworkError> {
    let error = || NetworkError(text.to_owned());
    let (host, port) = split(text);
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let name = host.strip_prefix("*.").unwrap_or(&host);
    let address = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let valid = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok() && name == host,
        None => {
            let is_part = |part: &str| {
                let byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
                !part.is_empty() && part.bytes().all(byte)
            };
            name.split('.').all(is_part)
        }
    };
    match port {
        _ if !valid => Err(error()),
        None => Ok(host),
        Some(port) => match port.parse::<u16>() {
            Ok(1..) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(format!("{host}:{port}"))
            }
            _ => Err(error()),
        },
    }
}

/// Parses `all`, `none`, or hosts separated by commas, as in a flag.
impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            hosts => {
                let hosts = hosts.split(',').map(|host| normalize(host.trim()));
                Ok(Self::Hosts(hosts.collect::<Result<_, _>>()?))
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => formatter.write_str("all"),
            Self::None => formatter.write_str("none"),
            Self::Hosts(hosts) => formatter.write_str(&hosts.join(",")),
        }
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Hosts(hosts) => {
                let mut list = serializer.serialize_seq(Some(hosts.len()))?;
                for host in hosts {
                    list.serialize_element(host)?;
                }
                list.end()
            }
            Self::All | Self::None => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Networks;

        impl<'de> Visitor<'de> for Networks {
            type Value = Network;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"all\", \"none\" or a list of hosts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Network, E> {
                match text {
                    "all" => Ok(Network::All),
                    "none" => Ok(Network::None),
                    _ => Err(E::custom(NetworkError(text.to_owned()))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Network, A::Error> {
                let mut hosts = Vec::new();
                while let Some(host) = list.next_element::<String>()? {
                    hosts.push(normalize(&host).map_err(A::Error::custom)?);
                }
                Ok(Network::Hosts(hosts))
            }
        }
        deserializer.deserialize_any(Networks)
    }
}
