//! Access control: bearer tokens, and the check of `Host` and `Origin` that stops web pages from using a loopback server.

mod changes;
mod console;
mod names;
mod pages;
mod principal;
mod scope;
mod streams;
mod token;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::Request;
use axum::http::header::AUTHORIZATION;
use axum::http::{Extensions, HeaderMap, Method};
use axum::response::Response;

use super::problem::{Kind, Problem};
use super::slots::Client;
use super::trace;
use console::Login;
use names::Way;

pub use changes::token_changes;
pub use console::{Console, KEY_BYTES};
pub(super) use console::{Peer, without_cookie};
pub(super) use pages::for_pages;
pub use principal::Principal;
pub use scope::{Scope, UnknownScope};
pub use token::{InvalidToken, Token};
pub use tokens::Tokens;

/// The access rules of a server: which tokens are valid, and which host names and web origins are allowed.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The valid tokens. Every request must carry one, except health checks.
    pub tokens: Tokens,
    /// Names besides `localhost` and the address itself by which the server is reached, without ports.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use the server, such as `https://chat.example.com`.
    pub origins: Vec<String>,
    /// The logins of the console; `None` if the server has no console.
    pub console: Option<Console>,
}

/// An authenticated client.
#[derive(Clone, Debug)]
pub(super) struct Authenticated {
    pub(super) principal: Principal,
    /// When its login ends; `None` if it sent no cookie.
    pub(super) ends: Option<SystemTime>,
}

impl From<Principal> for Authenticated {
    fn from(principal: Principal) -> Self {
        Self {
            principal,
            ends: None,
        }
    }
}

impl From<Login> for Authenticated {
    fn from(login: Login) -> Self {
        Self {
            principal: login.principal,
            ends: Some(login.ends),
        }
    }
}

/// The address at which a connection came in.
#[derive(Clone, Copy, Debug)]
pub struct LocalAddress(pub SocketAddr);

/// The kind of a connection that is not plain TCP.
#[derive(Clone, Debug)]
pub(super) enum Channel {
    /// A TLS connection.
    Tls,
    /// A connection to a Unix socket. It carries the principal of a client that needs no token; with `None`, the client needs a
    /// token.
    Unix(Option<Principal>),
}

impl Access {
    /// Refuses requests with a foreign name: from a page whose host name was made to point here (DNS rebinding), or from a page of
    /// another origin.
    pub(super) fn check_names(&self, request: &Request) -> Result<(), Problem> {
        let way = Way::of(request.extensions());
        self.check(request.uri(), request.headers(), way)
    }

    /// Runs a request by `run` if its client is authenticated and `check` accepts its principal. The principal becomes an extension
    /// of the request, and its name is recorded in the span. A stream of events ends when the principal is no longer known.
    pub(super) async fn let_in(
        &self,
        mut request: Request,
        check: impl FnOnce(&Principal) -> Result<(), Problem>,
        run: impl AsyncFnOnce(Request) -> Result<Response, Problem>,
    ) -> Result<Response, Problem> {
        let client = self.client(request.method(), request.headers(), request.extensions());
        let Authenticated { principal, ends } = client.inspect_err(log_refusal)?;
        trace::sent_by(principal.name());
        check(&principal)?;
        request.extensions_mut().insert(principal.clone());
        let response = run(request).await?;
        Ok(streams::while_known(
            response,
            &self.tokens,
            principal,
            ends,
        ))
    }

    /// Runs a request by `run` if these tokens, and no others, have its token.
    pub(super) async fn let_in_by(
        mut request: Request,
        tokens: Option<Tokens>,
        run: impl AsyncFnOnce(Request) -> Result<Response, Problem>,
    ) -> Result<Response, Problem> {
        let principal = check_token(&tokens.unwrap_or_default(), request.headers());
        let principal = principal.inspect_err(log_refusal)?;
        mark_authenticated(&request);
        trace::sent_by(principal.name());
        request.extensions_mut().insert(principal);
        run(request).await
    }

    /// Returns the client of a request, by its token, by the socket that it came in on, or by the cookie of the console.
    pub(super) fn client(
        &self,
        method: &Method,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<Authenticated, Problem> {
        let client = match extensions.get() {
            // A client that sends a token acts as the principal of that token, without the rights of the socket or of a cookie.
            _ if headers.contains_key(AUTHORIZATION) => check_token(&self.tokens, headers)?.into(),
            Some(Channel::Unix(Some(local))) => local.clone().into(),
            _ => match self.login(method, headers)? {
                Some(login) => login.into(),
                None => check_token(&self.tokens, headers)?.into(),
            },
        };
        if let Some(client) = extensions.get::<Arc<Client>>() {
            client.mark_authenticated();
        }
        Ok(client)
    }

    /// Returns the login of a request that carries the cookie of the console.
    fn login(&self, method: &Method, headers: &HeaderMap) -> Result<Option<Login>, Problem> {
        match &self.console {
            Some(console) => console.login(&self.tokens, method, headers),
            None => Ok(None),
        }
    }
}

/// Checks the bearer token of a client, and returns its principal.
fn check_token(tokens: &Tokens, headers: &HeaderMap) -> Result<Principal, Problem> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let token = given.next().and_then(|value| bearer(value.as_bytes()));
    let Some(token) = token.filter(|_| given.next().is_none()) else {
        let detail = "send one `Authorization: Bearer <token>`";
        return Err(Problem::new(Kind::NO_TOKEN, detail));
    };
    let wrong = || {
        Problem::new(
            Kind::WRONG_TOKEN,
            "The bearer token is not valid: ask the operator for one (`toolhost token`).",
        )
    };
    tokens.authenticate(token).ok_or_else(wrong)
}

/// Notes that the client of a request has shown what it needs, so that its connection is not among the first that are evicted.
pub(super) fn mark_authenticated(request: &Request) {
    if let Some(client) = request.extensions().get::<Arc<Client>>() {
        client.mark_authenticated();
    }
}

fn log_refusal(problem: &Problem) {
    tracing::debug!(problem = problem.detail(), "a request was refused");
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

    #[test]
    fn tokens_are_read_as_rfc_6750_says() {
        assert_eq!(bearer(b"Bearer abc"), Some(b"abc".as_slice()));
        assert_eq!(bearer(b"bearer  abc "), Some(b"abc".as_slice()));
        assert_eq!(bearer(b"Basic abc"), None);
        assert_eq!(bearer(b""), None);
    }

    #[test]
    fn who_asks_is_said_by_the_token_or_the_socket() {
        let named = |name: &str| Principal::unbounded(name);
        let access = Access {
            tokens: Tokens::new([(Token::new("t0ken").unwrap(), named("a"))]),
            ..Access::default()
        };
        let who = |given: &[&str], channel: Option<Channel>| {
            let (mut headers, mut extensions) = (HeaderMap::new(), Extensions::new());
            for value in given {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            if let Some(channel) = channel {
                extensions.insert(channel);
            }
            let found = access.client(&Method::GET, &headers, &extensions);
            found.map(|client| client.principal.name().to_owned()).ok()
        };
        let local = || Some(Channel::Unix(Some(named("local"))));
        assert_eq!(who(&["Bearer t0ken"], None).as_deref(), Some("a"));
        assert_eq!(who(&[], local()).as_deref(), Some("local"));
        assert_eq!(who(&["Bearer t0ken"], local()).as_deref(), Some("a"));
        for given in [
            &["Bearer wrong"][..],
            &["Basic YTpi"],
            &["Bearer t0ken", "Bearer t0ken"],
        ] {
            assert_eq!(who(given, local()), None, "{given:?}");
        }
        for channel in [None, Some(Channel::Tls), Some(Channel::Unix(None))] {
            assert_eq!(who(&[], channel), None);
        }
    }
}
