//! The destination of a request: scheme, host and port, each in a normal form.
//!
//! An address has many spellings: a C library reads `2130706433`, `0x7f.1` and `0177.0.0.1` as 127.0.0.1. This module accepts only the
//! usual one. Any other text that is not a name is an error.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name of a host, in bytes.
const MAX_NAME: usize = 253;

/// The longest label of a name, in bytes.
const MAX_LABEL: usize = 63;

/// The scheme of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

/// The host of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name, in lower case and without a dot at its end.
    Name(String),
    /// An address. An IPv4 address that is mapped into IPv6 is stored as IPv4.
    Ip(IpAddr),
}

/// The destination of a request. Displays as `https://example.com`, with the port if it is not the scheme's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Destination {
    /// The scheme.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// A reason why a text names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The text or its host is empty.
    #[error("it names no host")]
    Empty,
    /// The text contains an `@`.
    #[error("a user or password cannot be part of it")]
    Userinfo,
    /// The text goes on after the host and the port.
    #[error("a path or query cannot be part of it")]
    Path,
    /// The text contains a character that hosts cannot contain.
    #[error("{0:?} cannot be part of a host; names in other alphabets are written as xn--…")]
    Character(char),
    /// A label is empty, too long, or begins or ends with a hyphen.
    #[error("{0:?} is no name of a host")]
    Name(String),
    /// The text ends with a number but is no address in its usual form.
    #[error(
        "{0:?} is no address in its usual form: write four decimal numbers, or IPv6 in brackets"
    )]
    Address(String),
    /// The port is not a number from 1 to 65535.
    #[error("{0:?} is no port")]
    Port(String),
}

impl Scheme {
    /// Returns the default port.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Returns the name of the scheme.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Parses a scheme; upper and lower case are equal.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Https]
            .into_iter()
            .find(|scheme| text.eq_ignore_ascii_case(scheme.as_str()))
    }
}

impl Destination {
    /// Parses `host[:port]`.
    ///
    /// # Errors
    ///
    /// See [`HostError`].
    pub fn parse(scheme: Scheme, authority: &str) -> Result<Self, HostError> {
        let (host, port) = split(authority)?;
        Ok(Self {
            scheme,
            host: Host::parse(host)?,
            port: port.unwrap_or_else(|| scheme.port()),
        })
    }

    /// Returns host and port as the value of the header `Host`.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl Host {
    /// Parses a name or an address. An IPv6 address must be in brackets.
    ///
    /// # Errors
    ///
    /// See [`HostError`].
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(bracketed) = text.strip_prefix('[') {
            let address = bracketed
                .strip_suffix(']')
                .and_then(|text| text.parse().ok());
            let address: Ipv6Addr = address.ok_or_else(|| HostError::Address(text.to_owned()))?;
            return Ok(Self::Ip(IpAddr::V6(address).to_canonical()));
        }
        let odd = |c: &char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if let Some(odd) = text.chars().find(odd) {
            return Err(HostError::Character(odd));
        }
        let lower = text.to_ascii_lowercase();
        let name = lower.strip_suffix('.').unwrap_or(&lower);
        if name.is_empty() {
            return Err(HostError::Empty);
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        if is_number(last) {
            let address: Ipv4Addr = name
                .parse()
                .map_err(|_| HostError::Address(text.to_owned()))?;
            return Ok(Self::Ip(IpAddr::V4(address)));
        }
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= MAX_LABEL
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if name.len() > MAX_NAME || !name.split('.').all(is_label) {
            return Err(HostError::Name(text.to_owned()));
        }
        Ok(Self::Name(name.to_owned()))
    }
}

/// Splits `host[:port]`. The brackets of an IPv6 address are kept.
///
/// # Errors
///
/// If the text contains anything else, or if the port is not from 1 to 65535.
pub fn split(authority: &str) -> Result<(&str, Option<u16>), HostError> {
    if authority.contains('@') {
        return Err(HostError::Userinfo);
    }
    if authority.contains(['/', '\\', '?', '#']) {
        return Err(HostError::Path);
    }
    // Skip the brackets, because colons inside of them do not begin the port.
    let end = authority.find(']').map_or(0, |bracket| bracket + 1);
    let (bracketed, rest) = authority.split_at(end);
    let Some((host, port)) = rest.split_once(':') else {
        return Ok((authority, None));
    };
    let host = if bracketed.is_empty() {
        host
    } else {
        bracketed
    };
    let bad = || HostError::Port(port.to_owned());
    if !port.bytes().all(|byte| byte.is_ascii_digit())
        || (!bracketed.is_empty() && !rest.starts_with(':'))
    {
        return Err(bad());
    }
    match port.parse() {
        Ok(0) | Err(_) => Err(bad()),
        Ok(port) => Ok((host, Some(port))),
    }
}

/// Returns whether a C library would read this last label of a name as a number of an address.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x");
    hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || label.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Ip(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Ip(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme, self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(authority: &str) -> String {
        match Destination::parse(Scheme::Http, authority) {
            Ok(destination) => destination.to_string(),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn one_host_has_one_spelling() {
        for (authority, expected) in [
            ("example.com", "http://example.com"),
            ("EXAMPLE.com.", "http://example.com"),
            ("example.com:80", "http://example.com"),
            ("example.com:8080", "http://example.com:8080"),
            ("127.0.0.1", "http://127.0.0.1"),
            ("127.0.0.1.:81", "http://127.0.0.1:81"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("[::FFFF:127.0.0.1]", "http://127.0.0.1"),
            ("[0:0:0:0:0:ffff:7f00:1]:1", "http://127.0.0.1:1"),
            ("a_b.example.com", "http://a_b.example.com"),
            ("1.example", "http://1.example"),
        ] {
            assert_eq!(read(authority), expected, "{authority}");
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for authority in [
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "127.0.1",
            "0177.0.0.1",
            "127.0.0.01",
            "127.0.0.0x1",
            "1.2.3.4.5",
            "256.0.0.1",
            "evil.0x",
            "evil.1",
            "::1",
            "[::1",
            "::1]",
            "[::1]x",
            "[::1]x:80",
            "[fe80::1%25eth0]",
            "[127.0.0.1]",
            "",
            ".",
            "..",
            "a..b",
            "example.com..",
            "-a.example",
            "a-.example",
            "127.0.0.1:",
            ":80",
            "a:0",
            "a:65536",
            "a:+1",
            "a:1:2",
            "a:８０",
            "user@a",
            "example.com@127.0.0.1",
            "a@b:80",
            "a/b",
            "a?b",
            "a#b",
            "a\\b",
            "a b",
            "a%2eb",
            "１２７.0.0.1",
            "127。0。0。1",
            "exämple.com",
            "a\u{0}b",
        ] {
            assert!(
                Destination::parse(Scheme::Https, authority).is_err(),
                "{authority:?}: {}",
                read(authority)
            );
        }
        assert!(Host::parse(&"a".repeat(64)).is_err());
        assert!(Host::parse(&"a.".repeat(127)).is_ok());
        assert!(Host::parse(&"a.".repeat(128)).is_err());
    }
}
