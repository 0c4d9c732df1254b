//! Logins of the console: a token, or a link that `serve` or `toolhost console` prints, is exchanged for a cookie.
//!
//! A cookie holds no session: it names a principal, the end of the login, and a keyed hash over the token and the rights of that
//! principal. It therefore ends with its token, and with every change of its rights, and survives a restart of a server that
//! keeps its key.

mod attempts;
mod codes;
mod cookie;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use axum::http::header::COOKIE;
use axum::http::{Extensions, HeaderMap, HeaderName, Method};
use parking_lot::Mutex;
use serde_json::json;

use super::{Access, Channel, Principal, Tokens};
use crate::problem::{Kind, Problem};
use attempts::Attempts;
use codes::Codes;
use cookie::Cookie;
use toolhost_call::audit::Audit;

/// The name of the cookie.
const NAME: &str = "toolhost-console";

/// The header that a request with the cookie carries if it may change something. A page of another origin cannot add it.
const HEADER: HeaderName = HeaderName::from_static("toolhost-console");

/// The header in which a browser says which page a request is from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// How long a login lasts.
const LIFETIME: Duration = Duration::from_hours(24);

/// The bytes of the key of a console.
pub const KEY_BYTES: usize = 32;

/// The logins of a console. Clones share everything.
#[derive(Clone, Debug)]
pub struct Console {
    inner: Arc<Inner>,
}

struct Inner {
    key: [u8; KEY_BYTES],
    codes: Mutex<Codes>,
    attempts: Mutex<Attempts>,
    audit: Audit,
    /// The URL at which a browser on this machine reaches the server.
    url: OnceLock<String>,
}

/// A link that logs in one browser, once.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The path of the link, with its code.
    pub(crate) path: String,
    /// The link as a browser on the machine of the server opens it; `None` if the server listens at no address.
    pub(crate) url: Option<String>,
    /// The name of the token whose rights the login has.
    pub(crate) token: String,
    /// When the link ends.
    pub(crate) ends: SystemTime,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Console")
    }
}

/// The address of the client at the other end of a TCP connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// A login of a browser.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// The principal of the token with which the browser logged in.
    pub(super) principal: Principal,
    /// When the login ends.
    pub(super) ends: SystemTime,
}

/// How a browser logged in.
#[derive(Clone, Copy, Debug)]
enum Means {
    Token,
    Link,
}

impl Console {
    /// Makes a console whose cookies are authenticated with this key. If a server has the key of an earlier one, the cookies of that
    /// one are valid. Logins are recorded in the audit trail.
    pub fn new(key: [u8; KEY_BYTES], audit: Audit) -> Self {
        Self {
            inner: Arc::new(Inner {
                key,
                codes: Mutex::default(),
                attempts: Mutex::default(),
                audit,
                url: OnceLock::new(),
            }),
        }
    }

    /// Returns the path of a link that logs in one browser as this principal, once, within ten minutes. The login is refused if
    /// the token of the principal is no longer valid by then.
    pub fn link(&self, principal: &Principal) -> String {
        let code = self.inner.codes.lock().add(principal, Instant::now());
        format!("/console/login?code={code}")
    }

    /// Sets the URL at which a browser on this machine reaches the server. Only the first one counts.
    pub fn listens_at(&self, url: &str) {
        _ = self.inner.url.set(url.to_owned());
    }

    /// Makes a link for a client. The login has the rights of the token of this client, or of an operator's token if the client has
    /// none, because its Unix socket authenticated it.
    ///
    /// # Errors
    ///
    /// [`Kind::BOUNDED_TOKEN`] if the client has no token, and the server has none of an operator.
    pub(crate) fn link_for(&self, client: &Principal, tokens: &Tokens) -> Result<Link, Problem> {
        let own = client.token().is_some().then(|| client.clone());
        let principal = own.or_else(|| tokens.of_an_operator()).ok_or_else(|| {
            let detail = "a link has the rights of a token without bounds, with the scopes call and admin, and this server has none. Make one with \
                 toolhost token NAME --scope call --scope admin, or name another, as with toolhost console --server URL --token-file FILE";
            Problem::new(Kind::BOUNDED_TOKEN, detail)
        })?;
        let fields = json!({ "principal": client.name(), "token": principal.name() });
        self.inner.audit.record("console_link", fields);
        let path = self.link(&principal);
        Ok(Link {
            url: self.inner.url.get().map(|url| format!("{url}{path}")),
            path,
            token: principal.name().to_owned(),
            ends: SystemTime::now() + codes::LIFETIME,
        })
    }

    /// Returns the login of a request that carries a cookie; `None` if it carries none.
    ///
    /// # Errors
    ///
    /// [`Kind::WRONG_TOKEN`] if no cookie of the request is valid, and [`Kind::FOREIGN_ORIGIN`] or [`Kind::CONSOLE_HEADER`] if
    /// the request may be from a page of another origin.
    pub(super) fn login(
        &self,
        tokens: &Tokens,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Option<Login>, Problem> {
        let mut cookies = cookies(headers).peekable();
        if cookies.peek().is_none() {
            return Ok(None);
        }
        is_of_console(method, headers)?;
        let now = SystemTime::now();
        // Another server on this machine may have set a cookie of this name at another port.
        let login = cookies.find_map(|text| Cookie::read(text, &self.inner.key, tokens, now));
        let over = || {
            let detail = "the login of the console is over: log in again";
            Problem::new(Kind::WRONG_TOKEN, detail)
        };
        login.map(Some).ok_or_else(over)
    }

    /// Logs in with a token, and returns the value of a header `Set-Cookie`.
    pub(crate) fn with_token(
        &self,
        access: &Access,
        token: &str,
        extensions: &Extensions,
    ) -> Result<String, Problem> {
        let (peer, now) = (peer(extensions), Instant::now());
        self.inner.attempts.lock().check(peer, now)?;
        let principal = access.tokens.authenticate(token.trim().as_bytes());
        let Some(principal) = principal else {
            self.inner.attempts.lock().failed(peer, now);
            return Err(Problem::new(
                Kind::WRONG_TOKEN,
                "The token is not valid: ask the operator for one (`toolhost token`).",
            ));
        };
        Ok(self.set_cookie(&principal, Means::Token, extensions))
    }

    /// Logs in with the code of a link, and returns the value of a header `Set-Cookie`; `None` if the code is not valid.
    pub(crate) fn with_code(
        &self,
        access: &Access,
        code: &str,
        extensions: &Extensions,
    ) -> Option<String> {
        let (peer, now) = (peer(extensions), Instant::now());
        self.inner.attempts.lock().check(peer, now).ok()?;
        let principal = self.inner.codes.lock().redeem(code, now);
        let Some(principal) = principal.filter(|principal| access.tokens.know(principal)) else {
            self.inner.attempts.lock().failed(peer, now);
            return None;
        };
        Some(self.set_cookie(&principal, Means::Link, extensions))
    }

    fn set_cookie(&self, principal: &Principal, means: Means, extensions: &Extensions) -> String {
        let by = match means {
            Means::Token => "token",
            Means::Link => "link",
        };
        let fields = json!({ "principal": principal.name(), "by": by });
        self.inner.audit.record("console_login", fields);
        let ends = SystemTime::now() + LIFETIME;
        let value = Cookie::write(principal, ends, &self.inner.key);
        header(&value, LIFETIME, extensions)
    }
}

/// Returns the value of a header `Set-Cookie` that takes the cookie from the browser.
pub(crate) fn without_cookie(extensions: &Extensions) -> String {
    header("", Duration::ZERO, extensions)
}

/// Returns the value of a header `Set-Cookie` that gives the cookie this value for this time.
fn header(value: &str, time: Duration, extensions: &Extensions) -> String {
    let secure = match extensions.get() {
        Some(Channel::Tls) => "; Secure",
        _ => "",
    };
    let seconds = time.as_secs();
    format!("{NAME}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
}

fn peer(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get().map(|Peer(address)| *address)
}

/// Returns the values of all cookies of the console.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(COOKIE).iter();
    let pairs = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    pairs.filter_map(|pair| pair.trim().strip_prefix(NAME)?.strip_prefix('='))
}

/// Refuses a request with a cookie that a page of another origin can have sent.
fn is_of_console(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let site = headers.get(FETCH_SITE).map(|site| site.as_bytes());
    let is_own = match site {
        None | Some(b"same-origin") => true,
        // The user typed the address, or followed a bookmark.
        Some(b"none") => reads,
        Some(_) => false,
    };
    if !is_own {
        let detail = "the cookie of the console is for the console alone: other pages send a token";
        return Err(Problem::new(Kind::FOREIGN_ORIGIN, detail));
    }
    if !reads && headers.get(HEADER).is_none_or(|value| value != "1") {
        let detail =
            "a request with the cookie of the console needs the header `Toolhost-Console: 1`";
        return Err(Problem::new(Kind::CONSOLE_HEADER, detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
