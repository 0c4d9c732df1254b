//! Who may ask: bearer tokens, and the check of `Host` and `Origin` that stops web pages from using a loopback server.

mod principal;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use constant_time_eq::constant_time_eq_32;
use tower_http::cors::{AllowOrigin, AllowPrivateNetwork, CorsLayer};

use super::agent;
use super::problem::Problem;
pub use principal::{Principal, Scope};

/// A bearer token, of which only the hash is kept.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// A text that cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is 1 to 4096 visible ASCII characters without spaces")]
pub struct InvalidToken;

impl Token {
    /// Makes a token of this text. White space around it, such as the line end of a file, does not count.
    ///
    /// # Errors
    ///
    /// If no header could carry it.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        if text.is_empty() || text.len() > 4096 || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(InvalidToken);
        }
        Ok(Self(*blake3::hash(text.as_bytes()).as_bytes()))
    }

    /// Compares in constant time. What is compared are hashes, so not even the length shows.
    fn is(&self, text: &[u8]) -> bool {
        constant_time_eq_32(&self.0, blake3::hash(text).as_bytes())
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

/// Who may use a server, and by which names.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token that every request but `/healthz` must carry.
    pub token: Token,
    /// Names besides `localhost` and the address itself by which the server is reached, without ports.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use the server, such as `https://chat.example.com`.
    pub origins: Vec<String>,
}

/// The address at which a connection came in.
#[derive(Clone, Copy, Debug)]
pub struct LocalAddress(pub SocketAddr);

/// Refuses requests without the right token.
pub(super) async fn require_token(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    access.check_token(request.headers())?;
    let principal = Principal::unbounded("token");
    request.extensions_mut().insert(principal);
    Ok(next.run(request).await)
}

/// Refuses requests under a foreign name: a page whose name was made to point here (DNS rebinding), or a page elsewhere.
pub(super) async fn require_known_host(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let local = request
        .extensions()
        .get::<LocalAddress>()
        .map(|address| address.0.ip());
    access.check(request.uri(), request.headers(), local)?;
    Ok(next.run(request).await)
}

/// Lets the pages of known origins read replies, and answers what a browser asks before it sends a request.
///
/// Refuses nothing: that is what [`require_known_host`] does, outside of it.
pub(super) fn for_pages(access: Arc<Access>) -> CorsLayer {
    let known = AllowOrigin::predicate(move |origin, _| access.allows_pages_of(origin.as_bytes()));
    CorsLayer::new()
        .allow_origin(known)
        .allow_methods([Method::GET, Method::PUT, Method::POST, Method::DELETE])
        .allow_headers(
            [AUTHORIZATION, CONTENT_TYPE]
                .into_iter()
                .chain(agent::HEADERS)
                .collect::<Vec<_>>(),
        )
        .expose_headers([RETRY_AFTER])
        // The page is on the Internet and the server on this machine, which browsers ask about as well.
        .allow_private_network(AllowPrivateNetwork::yes())
}

impl Access {
    /// Checks the token of a request.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let given = headers.get(AUTHORIZATION);
        match given.and_then(|value| bearer(value.as_bytes())) {
            Some(token) if self.token.is(token) => Ok(()),
            Some(_) => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "wrong_token",
                "the bearer token is not the right one",
            )),
            None => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "no_token",
                "send `Authorization: Bearer <token>`",
            )),
        }
    }

    fn allows_pages_of(&self, origin: &[u8]) -> bool {
        let mut known = self.origins.iter();
        known.any(|known| known.as_bytes().eq_ignore_ascii_case(origin))
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap, local: Option<IpAddr>) -> Result<(), Problem> {
        let forbidden =
            |code, detail: String| Err(Problem::new(StatusCode::FORBIDDEN, code, detail));
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
            if !self.is_known(name, local) {
                let detail =
                    format!("the host {name:?} is not known here; `--allow-host` makes it known");
                return forbidden("foreign_host", detail);
            }
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(());
        };
        if origins.next().is_some() {
            return forbidden(
                "foreign_origin",
                "a request has at most one Origin header".into(),
            );
        }
        let origin = String::from_utf8_lossy(origin.as_bytes());
        let same = origin
            .strip_prefix("http://")
            .is_some_and(|origin| origin.eq_ignore_ascii_case(&name));
        if same || self.allows_pages_of(origin.as_bytes()) {
            return Ok(());
        }
        forbidden(
            "foreign_origin",
            format!("pages of {origin:?} may not use this server; `--allow-origin` lets them"),
        )
    }

    fn is_known(&self, authority: &str, local: Option<IpAddr>) -> bool {
        let name = host_of(authority);
        let address = name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>()
            .ok();
        match (address, local) {
            (Some(address), Some(local)) if address.to_canonical() == local.to_canonical() => true,
            _ if name.eq_ignore_ascii_case("localhost") => {
                local.is_some_and(|local| local.to_canonical().is_loopback())
            }
            _ => self
                .hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name)),
        }
    }
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

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            token: Token::new("t0ken").unwrap(),
            hosts: vec!["tools.example.com".into()],
            origins: vec!["https://chat.example.com".into()],
        }
    }

    fn check(host: &str, origin: Option<&str>, local: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        access()
            .check(
                &Uri::from_static("/v1/tools"),
                &headers,
                Some(local.parse().unwrap()),
            )
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
        let local = Some("127.0.0.1".parse().unwrap());
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
                .check(&Uri::from_static("/"), &headers, None)
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
    fn tokens_are_read_as_rfc_6750_says() {
        assert_eq!(bearer(b"Bearer abc"), Some(b"abc".as_slice()));
        assert_eq!(bearer(b"bearer  abc "), Some(b"abc".as_slice()));
        assert_eq!(bearer(b"Basic abc"), None);
        assert_eq!(bearer(b""), None);
        let token = Token::new(" t0ken\n").unwrap();
        assert!(token.is(b"t0ken") && !token.is(b"t0ke") && !token.is(b""));
        assert!(Token::new(" \n").is_err() && Token::new("a b").is_err());
        assert_eq!(format!("{token:?}"), "Token");
    }
}
