//! The check of `Host` and `Origin`: the host names and web origins that a server accepts. It stops web pages from using a
//! loopback server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::{Extensions, HeaderMap, Uri};

use super::{Access, Channel, LocalAddress};
use crate::problem::{Kind, Problem};

/// The route by which a request came in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    arrival: Arrival,
    tls: bool,
}

/// The place where a request came in.
#[derive(Clone, Copy, Debug, Default)]
enum Arrival {
    /// At this address.
    Address(IpAddr),
    /// At a Unix socket.
    Socket,
    /// Unknown: the request has no [`LocalAddress`]. No name fits except those of [`Access::hosts`].
    #[default]
    Unknown,
}

impl Way {
    /// Reads the route from the extensions of a request.
    pub(super) fn of(extensions: &Extensions) -> Self {
        let channel = extensions.get::<Channel>();
        let address = extensions.get::<LocalAddress>();
        Self {
            arrival: match (channel, address) {
                (Some(Channel::Unix(_)), _) => Arrival::Socket,
                (_, Some(LocalAddress(address))) => Arrival::Address(address.ip()),
                (_, None) => Arrival::Unknown,
            },
            tls: matches!(channel, Some(Channel::Tls)),
        }
    }
}

impl Access {
    /// Returns whether pages of this origin may use the server.
    pub(super) fn allows_pages_of(&self, origin: &[u8]) -> bool {
        let mut known = self.origins.iter();
        known.any(|known| known.as_bytes().eq_ignore_ascii_case(origin))
    }

    /// Checks the `Host` and `Origin` of a request that came in this way.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap, way: Way) -> Result<(), Problem> {
        let forbidden = |kind, detail: String| Err(Problem::new(kind, detail));
        let mut names = headers.get_all(HOST).iter();
        let (Some(name), None) = (names.next(), names.next()) else {
            return Err(Problem::broken_request(
                "a request has exactly one Host header",
            ));
        };
        let name = String::from_utf8_lossy(name.as_bytes());
        // A request line with a full URL names a host as well.
        for name in [name.as_ref()]
            .into_iter()
            .chain(uri.authority().map(|authority| authority.as_str()))
        {
            if !self.is_known(name, way) {
                let detail =
                    format!("the host {name:?} is not known here; `--allow-host` makes it known");
                return forbidden(Kind::FOREIGN_HOST, detail);
            }
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(());
        };
        if origins.next().is_some() {
            return forbidden(
                Kind::FOREIGN_ORIGIN,
                "a request has at most one Origin header".into(),
            );
        }
        let origin = String::from_utf8_lossy(origin.as_bytes());
        let scheme = if way.tls { "https://" } else { "http://" };
        let same = origin
            .strip_prefix(scheme)
            .is_some_and(|origin| origin.eq_ignore_ascii_case(&name));
        if same || self.allows_pages_of(origin.as_bytes()) {
            return Ok(());
        }
        forbidden(
            Kind::FOREIGN_ORIGIN,
            format!("pages of {origin:?} may not use this server; `--allow-origin` lets them"),
        )
    }

    fn is_known(&self, authority: &str, way: Way) -> bool {
        let name = host_of(authority);
        let address = match name.strip_prefix('[') {
            Some(_) => bare(name).parse::<Ipv6Addr>().ok().map(IpAddr::from),
            None => name.parse::<Ipv4Addr>().ok().map(IpAddr::from),
        };
        let local = match way.arrival {
            // No DNS name leads to a socket: only a local program can connect, and it chooses the host name itself.
            Arrival::Socket if name.eq_ignore_ascii_case("localhost") => return true,
            Arrival::Address(local) => Some(local.to_canonical()),
            Arrival::Socket | Arrival::Unknown => None,
        };
        match (address, local) {
            (Some(address), Some(local)) if address.to_canonical() == local => true,
            _ if name.eq_ignore_ascii_case("localhost") => {
                local.is_some_and(|local| local.is_loopback())
            }
            _ => self
                .hosts
                .iter()
                .any(|known| bare(host_of(known)).eq_ignore_ascii_case(bare(name))),
        }
    }
}

/// Removes the brackets around an IPv6 address.
fn bare(name: &str) -> &str {
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    inner.unwrap_or(name)
}

/// Cuts off the port: `[::1]:80` becomes `[::1]`, `a:80` becomes `a`.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (!host.contains(':') || host.ends_with(']')) =>
        {
            host
        }
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            hosts: vec!["tools.example.com".into()],
            origins: vec!["https://chat.example.com".into()],
            ..Access::default()
        }
    }

    fn tcp(address: &str) -> Way {
        Way {
            arrival: Arrival::Address(address.parse().unwrap()),
            tls: false,
        }
    }

    fn check(host: &str, origin: Option<&str>, local: &str) -> bool {
        check_way(host, origin, tcp(local))
    }

    fn check_way(host: &str, origin: Option<&str>, way: Way) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        access()
            .check(&Uri::from_static("/v1/tools"), &headers, way)
            .is_ok()
    }

    #[test]
    fn knows_its_own_names_only() {
        for host in [
            "127.0.0.1:7411",
            "127.0.0.1",
            "localhost:1",
            "LOCALHOST",
            "tools.example.com:443",
        ] {
            assert!(check(host, None, "127.0.0.1"), "{host}");
        }
        assert!(check("[::1]:7411", None, "::1") && check("127.0.0.1", None, "::ffff:127.0.0.1"));
        for host in [
            "evil.com",
            "127.0.0.2",
            "localhost.evil.com",
            "tools.example.com.evil.com",
            "",
            "127.0.0.1:x",
            "[::1",
            "::1",
            "[127.0.0.1]",
        ] {
            assert!(!check(host, None, "127.0.0.1"), "{host}");
        }
        assert!(!check("localhost", None, "192.0.2.1"));
    }

    #[test]
    fn pages_need_a_known_origin() {
        let origin = |origin: &str| check("127.0.0.1:7411", Some(origin), "127.0.0.1");
        assert!(origin("http://127.0.0.1:7411") && origin("https://chat.example.com"));
        for foreign in [
            "http://evil.com",
            "null",
            "http://127.0.0.1:8000",
            "https://127.0.0.1:7411",
            "http://localhost:7411",
        ] {
            assert!(!origin(foreign), "{foreign}");
        }
    }

    #[test]
    fn exactly_one_host_is_needed() {
        let mut headers = HeaderMap::new();
        let local = tcp("127.0.0.1");
        assert!(
            access()
                .check(&Uri::from_static("/"), &headers, local)
                .is_err()
        );
        headers.append(HOST, "127.0.0.1".parse().unwrap());
        assert!(
            access()
                .check(&Uri::from_static("http://evil.com/"), &headers, local)
                .is_err()
        );
        assert!(
            access()
                .check(&Uri::from_static("/"), &headers, Way::default())
                .is_err()
        );
        headers.append(HOST, "127.0.0.1".parse().unwrap());
        assert!(
            access()
                .check(&Uri::from_static("/"), &headers, local)
                .is_err()
        );
    }

    #[test]
    fn pages_over_tls_have_an_origin_with_https() {
        let way = Way {
            tls: true,
            ..tcp("127.0.0.1")
        };
        let origin = |origin: &str| check_way("127.0.0.1:7411", Some(origin), way);
        assert!(origin("https://127.0.0.1:7411") && origin("https://chat.example.com"));
        assert!(!origin("http://127.0.0.1:7411") && !origin("https://127.0.0.1"));
    }

    #[test]
    fn a_socket_is_localhost() {
        let way = Way {
            arrival: Arrival::Socket,
            tls: false,
        };
        let host = |host: &str| check_way(host, None, way);
        assert!(host("localhost") && host("localhost:80") && host("tools.example.com"));
        assert!(!host("127.0.0.1") && !host("evil.com") && !host(""));
        assert!(!check_way("localhost", Some("http://evil.com"), way));
    }
}
