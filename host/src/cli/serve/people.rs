//! The addresses under which people reach a server, for the links that they are given.

use clap::Args;
use toolhost_core::PublicAddress;
use toolhost_http::Listener;
use toolhost_service::listening::origin;

/// The value of `--ports-domain` with which no server of a chat is shown.
const OFF: &str = "off";

/// The host name below which servers of chats are shown to people on this machine. Browsers resolve it to the loopback address, RFC 6761.
const LOCAL: &str = "localhost";

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Links for people")]
pub(in crate::cli) struct Options {
    /// The address under which people reach this server, for the links to files and servers that tools reply with, such as
    /// https://tools.example.com [default: the first address of --listen]
    #[arg(long, value_name = "ORIGIN", env = "TOOLHOST_PUBLIC_URL", value_parser = origin)]
    public_url: Option<String>,
    /// The domain below which each server that a chat starts gets a host name of its own, for people with a link to it: all its names
    /// must lead here, as with the DNS record *.ports.example.com; `off` shows none [default: localhost, if people reach
    /// this server on this machine alone]
    #[arg(
        long,
        value_name = "DOMAIN",
        env = "TOOLHOST_PORTS_DOMAIN",
        value_parser = domain
    )]
    ports_domain: Option<String>,
}

/// Reads the name of a domain.
fn domain(text: &str) -> Result<String, &'static str> {
    let is_label = |label: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.bytes().all(good)
    };
    match text.is_empty() || text.split('.').all(is_label) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("write it as ports.example.com, without a scheme, a port or `*`"),
    }
}

impl Options {
    /// Returns the host name of the address that the operator named.
    pub(super) fn name(&self) -> Option<String> {
        let url = self.public_url.as_deref().unwrap_or_default();
        let authority = url.split_once("://")?.1;
        Some(parts(authority).0.to_owned())
    }

    /// Returns the addresses of a server with these listeners; `None` if people reach none of them.
    pub(super) fn address(&self, listeners: &[Listener]) -> Option<PublicAddress> {
        let mut listeners = listeners
            .iter()
            .filter(|listener| listener.address().is_some());
        let listened = || listeners.next()?.local_url().ok();
        let named = self.public_url.clone().filter(|url| !url.is_empty());
        Some(self.beside(named.or_else(listened)?))
    }

    /// Returns the addresses of a server at this origin.
    fn beside(&self, origin: String) -> PublicAddress {
        let (scheme, authority) = origin.split_once("://").unwrap_or(("http", &origin));
        let (host, port) = parts(authority);
        let is_local = host == LOCAL
            || host
                .trim_matches(['[', ']'])
                .parse()
                .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        let named = self
            .ports_domain
            .as_deref()
            .filter(|domain| !domain.is_empty());
        let domain = named.or(is_local.then_some(LOCAL));
        let domain = domain.filter(|domain| *domain != OFF);
        let ports = domain.map(|domain| format!("{scheme}://{domain}{port}"));
        PublicAddress { origin, ports }
    }
}

/// Returns the host of an authority, and its port with the colon in front.
fn parts(authority: &str) -> (&str, &str) {
    let port = authority.rfind(':').filter(|_| !authority.ends_with(']'));
    authority.split_at(port.unwrap_or(authority.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_shown_below_a_domain_that_leads_here() {
        let ports = |origin: &str, domain: Option<&str>| {
            let options = Options {
                public_url: None,
                ports_domain: domain.map(str::to_owned),
            };
            options.beside(origin.to_owned()).ports
        };
        let some = |text: &str| Some(text.to_owned());
        for (origin, expected) in [
            ("http://127.0.0.1:7411", "http://localhost:7411"),
            ("http://[::1]:80", "http://localhost:80"),
            ("https://localhost", "https://localhost"),
        ] {
            assert_eq!(ports(origin, None), some(expected));
        }
        for elsewhere in ["https://tools.example.com", "http://10.0.0.1:7411"] {
            assert_eq!(ports(elsewhere, None), None);
        }
        let named = ports("https://tools.example.com:8443", Some("ports.example.com"));
        assert_eq!(named, some("https://ports.example.com:8443"));
        assert_eq!(ports("http://127.0.0.1:1", Some("off")), None);
    }

    #[test]
    fn a_public_address_has_a_name() {
        let name = |url: &str| {
            let options = Options {
                public_url: Some(url.to_owned()),
                ports_domain: None,
            };
            options.name()
        };
        for (url, expected) in [
            ("https://tools.example.com", "tools.example.com"),
            ("http://tools.example.com:80", "tools.example.com"),
            ("http://[::1]:80", "[::1]"),
            ("http://[::1]", "[::1]"),
        ] {
            assert_eq!(name(url).as_deref(), Some(expected));
        }
        assert_eq!(name(""), None);
    }

    #[test]
    fn a_domain_is_a_name() {
        for good in ["ports.example.com", "localhost", "off", ""] {
            assert!(domain(good).is_ok(), "{good}");
        }
        for bad in ["*.example.com", "https://a", "a:1", "a..b", "ä.example"] {
            assert!(domain(bad).is_err(), "{bad}");
        }
    }
}
