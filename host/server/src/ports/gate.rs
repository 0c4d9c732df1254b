//! Who is let in: a browser with a signed link, which it keeps in a cookie of this origin alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, COOKIE, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use toolhost_core::{Host, LINK, Link, LinkError};

use super::Refusal;
use super::rewrite::Origin;

/// The headers by which a browser says for whom it sends a request:
/// <https://www.w3.org/TR/fetch-metadata/>.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What is done with a request that is not refused.
pub(super) enum Entry {
    /// The server of this link answers it.
    Go(Link),
    /// The browser is to come again, with a cookie.
    Redirect(Response),
}

/// Decides about a request to the server of a label.
pub(super) fn admit(
    host: &Host,
    label: &str,
    origin: &Origin,
    request: &Request,
) -> Result<Entry, Refusal> {
    let now = now_unix();
    let verify = |text: &str| {
        let link = host.verify(text, now)?;
        let is_of_label = host.label(&link).is_some_and(|own| own == label);
        is_of_label.then_some(link).ok_or(LinkError::Foreign)
    };
    if let Some((text, target)) = split_link(request.uri())
        && matches!(*request.method(), Method::GET | Method::HEAD)
    {
        let link = verify(text).map_err(refused)?;
        host.link_used(&link, "ok");
        return Ok(Entry::Redirect(entrance(
            text,
            &target,
            left(&link),
            origin,
        )));
    }
    if !is_of_page(request.method(), request.headers(), origin) {
        let text = "a page of another origin may not use this server";
        return Err(Refusal::new(StatusCode::FORBIDDEN, text));
    }
    let mut found = None;
    for text in cookies(request.headers()) {
        match verify(text) {
            Ok(link) => return Ok(Entry::Go(link)),
            // A page of a sibling can set a cookie of this name as well.
            Err(LinkError::Expired) => found = Some(LinkError::Expired),
            Err(LinkError::Foreign) => {}
        }
    }
    Err(found.map_or_else(
        || {
            Refusal::new(
                StatusCode::FORBIDDEN,
                "open the link that you were given for this server",
            )
        },
        refused,
    ))
}

/// Returns how long a link is good for.
pub(super) fn left(link: &Link) -> Duration {
    Duration::from_secs(link.expires_at_unix.saturating_sub(now_unix()))
}

fn now_unix() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

fn refused(error: LinkError) -> Refusal {
    let status = match error {
        LinkError::Foreign => StatusCode::FORBIDDEN,
        LinkError::Expired => StatusCode::GONE,
    };
    Refusal::new(status, error.to_string())
}

/// Returns the signed link in the query of an address, and the address without it.
fn split_link(uri: &Uri) -> Option<(&str, String)> {
    let mut link = None;
    let others = uri.query()?.split('&').filter(|pair| {
        let value = pair
            .strip_prefix(LINK)
            .and_then(|rest| rest.strip_prefix('='));
        link = link.or(value);
        value.is_none()
    });
    let others = others.collect::<Vec<_>>().join("&");
    // A path with two slashes in front would be the address of another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    let target = match others.is_empty() {
        true => path,
        false => format!("{path}?{others}"),
    };
    link.map(|link| (link, target))
}

/// Returns the answer that keeps the link in a cookie, so that it is in no address and no history.
fn entrance(link: &str, target: &str, left: Duration, origin: &Origin) -> Response {
    // A page of another site may show the server in a frame, where only such a cookie is sent.
    let site = match origin.is_secure() {
        true => "SameSite=None; Secure; Partitioned",
        false => "SameSite=Lax",
    };
    let seconds = left.as_secs();
    let cookie = format!("{LINK}={link}; HttpOnly; Path=/; Max-Age={seconds}; {site}");
    let headers = [
        (SET_COOKIE, cookie.as_str()),
        (LOCATION, target),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Returns whether a page of the server itself sends the request, or a person who opens the server.
fn is_of_page(method: &Method, headers: &HeaderMap, origin: &Origin) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_own = text(ORIGIN).is_none_or(|of| origin.is(of));
    let opens = method == Method::GET && text(FETCH_MODE) == Some("navigate");
    is_own
        && match text(FETCH_SITE) {
            None | Some("same-origin" | "none") => true,
            Some(_) => opens,
        }
}

/// Returns the values of the cookies with signed links.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(COOKIE).iter();
    let pairs = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    pairs.filter_map(|pair| pair.trim().strip_prefix(LINK)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_taken_out_of_an_address() {
        let split = |text: &str| {
            let uri: Uri = text.parse().unwrap();
            split_link(&uri).map(|(link, target)| (link.to_owned(), target))
        };
        let expected = |link: &str, target: &str| Some((link.to_owned(), target.to_owned()));
        assert_eq!(split("/a?toolhost-link=x"), expected("x", "/a"));
        assert_eq!(split("/?b=1&toolhost-link=x&c"), expected("x", "/?b=1&c"));
        assert_eq!(
            split("//evil.example/?toolhost-link=x"),
            expected("x", "/evil.example/")
        );
        for without in ["/", "/?", "/?a=toolhost-link=x", "/?toolhost-links=x"] {
            assert_eq!(split(without), None, "{without}");
        }
    }

    #[test]
    fn only_pages_of_the_server_itself_use_it() {
        let origin = Origin::of_label("http://localhost:7411", "p1-a");
        let is_let_in = |method: Method, fields: &[(&'static str, &'static str)]| {
            let fields = fields
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            is_of_page(&method, &fields.collect(), &origin)
        };
        let own = "http://p1-a.localhost:7411";
        for good in [
            &[][..],
            &[("origin", own)],
            &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
            &[("sec-fetch-site", "same-origin"), ("origin", own)],
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
            ],
        ] {
            assert!(is_let_in(Method::GET, good), "{good:?}");
        }
        for bad in [
            &[("origin", "null")][..],
            &[("origin", "http://p2-a.localhost:7411")],
            &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")],
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "websocket"),
            ],
        ] {
            assert!(!is_let_in(Method::GET, bad), "{bad:?}");
        }
        let form = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
        ];
        assert!(!is_let_in(Method::POST, &form));
    }
}
