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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn allows(text: &str, scheme: Scheme, authority: &str) -> Option<Allowance> {
        pattern(text).allows(&Destination::parse(scheme, authority).unwrap())
    }

    #[test]
    fn schemes_hosts_and_ports_are_matched() {
        use Allowance::{Itself, Private, Public};
        use Scheme::{Http, Https};
        for (text, scheme, authority, expected) in [
            ("example.com", Https, "example.com", Some(Public)),
            ("example.com", Https, "EXAMPLE.com.:443", Some(Public)),
            ("Example.Com.", Https, "example.com", Some(Public)),
            ("example.com", Http, "example.com", None),
            ("example.com", Http, "example.com:443", None),
            ("example.com", Https, "example.com:8443", None),
            ("example.com", Https, "www.example.com", None),
            ("example.com", Https, "example.com.evil", None),
            ("example.com", Https, "notexample.com", None),
            ("example.com:8443", Https, "example.com:8443", Some(Public)),
            ("HTTP://example.com", Http, "example.com", Some(Public)),
            ("http://example.com", Https, "example.com", None),
            ("http://example.com", Https, "example.com:80", None),
            ("*.example.com", Https, "a.example.com", Some(Public)),
            ("*.example.com", Https, "a.b.example.com", Some(Public)),
            ("*.example.com", Https, "example.com", None),
            ("*.example.com", Https, "notexample.com", None),
            ("*.example.com", Https, "a.example.com.evil", None),
            ("*", Https, "example.com", Some(Public)),
            ("*", Https, "10.0.0.1", Some(Public)),
            ("*", Http, "example.com", None),
            ("http://*:81", Http, "a:81", Some(Public)),
            ("10.0.0.1", Https, "10.0.0.1", Some(Itself)),
            ("10.0.0.1", Https, "10.0.0.2", None),
            ("10.0.0.1", Https, "[::ffff:10.0.0.1]", Some(Itself)),
            ("http://[::1]:81", Http, "[0::1]:81", Some(Itself)),
            (
                "private:http://localhost:81",
                Http,
                "localhost:81",
                Some(Private),
            ),
            ("private:http://localhost:81", Http, "127.0.0.1:81", None),
            ("private:*.corp", Https, "a.corp", Some(Private)),
        ] {
            assert_eq!(
                allows(text, scheme, authority),
                expected,
                "{text} {scheme} {authority}"
            );
        }
    }

    #[test]
    fn what_is_no_pattern_is_explained() {
        let problem = |text: &str| text.parse::<Pattern>().unwrap_err().problem.to_string();
        for (text, expected) in [
            ("", "it names no host"),
            ("https://", "it names no host"),
            ("ftp://example.com", "the scheme must be http or https"),
            (
                "https://example.com/",
                "a path or query cannot be part of it",
            ),
            ("example.com/v1", "a path or query cannot be part of it"),
            (
                "https://user@example.com",
                "a user or password cannot be part of it",
            ),
            (
                "a.*.com",
                "a * must stand alone, or before the first dot of a name",
            ),
            (
                "*example.com",
                "a * must stand alone, or before the first dot of a name",
            ),
            (
                "*.*.com",
                "a * must stand alone, or before the first dot of a name",
            ),
            (
                "*.1.2.3.4",
                "a * must stand alone, or before the first dot of a name",
            ),
            ("*.", "it names no host"),
            ("https://https://a", "a path or query cannot be part of it"),
            ("example.com:x", "\"x\" is no port"),
            ("example.com:", "\"\" is no port"),
            (
                "bücher.example",
                "'ü' cannot be part of a host; names in other alphabets are written as xn--…",
            ),
            (
                " example.com",
                "' ' cannot be part of a host; names in other alphabets are written as xn--…",
            ),
            (
                "127.1",
                "\"127.1\" is no address in its usual form: write four decimal numbers, or IPv6 in brackets",
            ),
            (
                "private:*",
                "`private:` needs hosts with names, as an address stands for itself and * means public ones",
            ),
            (
                "private:10.0.0.1",
                "`private:` needs hosts with names, as an address stands for itself and * means public ones",
            ),
            (
                "private:8080",
                "\"8080\" is no address in its usual form: write four decimal numbers, or IPv6 in brackets",
            ),
            ("0.0.0.0", "no connection can be made to that address"),
            ("[ff02::1]", "no connection can be made to that address"),
        ] {
            assert_eq!(problem(text), expected, "{text}");
        }
        insta::assert_snapshot!("a/b".parse::<Pattern>().unwrap_err(), @r#""a/b" does not say where requests may go: a path or query cannot be part of it. Write [scheme://]host[:port], such as "api.example.com", "*.example.com" or "http://10.0.0.7:8080""#);
    }

    proptest! {
        #[test]
        fn a_pattern_reads_as_it_is_shown(
            private in "(private:)?",
            scheme in "((http|https|HTTP)://)?",
            host in r"(\*\.)?[a-z][a-zA-Z0-9]{0,8}(\.[a-z][a-z0-9-]{0,4}[a-z]){0,3}\.?|10\.0\.0\.[1-9]|\[fd00::[1-9a-f]\]|\*",
            port in "(:[1-9][0-9]{0,3})?",
        ) {
            let text = format!("{private}{scheme}{host}{port}");
            if let Ok(pattern) = text.parse::<Pattern>() {
                let shown = pattern.to_string();
                prop_assert_eq!(shown.parse::<Pattern>().unwrap(), pattern.clone());
                prop_assert_eq!(shown.parse::<Pattern>().unwrap().to_string(), shown);
            } else {
                prop_assert!(private == "private:", "{}", text);
            }
        }

        #[test]
        fn no_text_panics_and_what_is_accepted_is_ascii(text in ".{0,40}") {
            if let Ok(pattern) = text.parse::<Pattern>() {
                prop_assert!(pattern.to_string().is_ascii());
            }
        }
    }
}
