//! The headers that are changed on the way. A server of a chat believes that it is asked by its own name, `localhost`, as the development
//! servers of today want it; a browser sees the public origin alone.

use axum::http::header::{COOKIE, EXPECT, HOST, LOCATION, ORIGIN, REFERER, SET_COOKIE, UPGRADE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use toolhost_core::LINK;
use toolhost_http::forward::remove_of_connection;

/// The headers of a request to change protocols, which concern this connection and are passed on.
const OF_UPGRADE: [HeaderName; 2] = [UPGRADE, header::CONNECTION];

/// The public origin of one server of a chat.
#[derive(Clone, Debug)]
pub(super) struct Origin(String);

impl Origin {
    /// Returns that of a label below the origin of all servers.
    pub(super) fn of_label(ports: &str, label: &str) -> Self {
        let (scheme, domain) = ports.split_once("://").unwrap_or(("http", ports));
        Self(format!("{scheme}://{label}.{domain}"))
    }

    pub(super) fn is(&self, origin: &str) -> bool {
        self.0.eq_ignore_ascii_case(origin)
    }

    pub(super) fn is_secure(&self) -> bool {
        self.0.starts_with("https:")
    }
}

/// Makes the headers of a request those that the server at a port is sent.
pub(super) fn for_server(headers: &mut HeaderMap, port: u16, origin: &Origin) {
    let upgrade = headers.get(UPGRADE).cloned();
    remove_of_connection(headers);
    headers.remove(EXPECT);
    if let Some(protocol) = upgrade {
        let [name, connection] = OF_UPGRADE;
        headers.insert(name, protocol);
        headers.insert(connection, HeaderValue::from_static("upgrade"));
    }
    let local = format!("http://localhost:{port}");
    if let Ok(name) = HeaderValue::from_str(&local["http://".len()..]) {
        headers.insert(HOST, name);
    }
    for name in [ORIGIN, REFERER] {
        change(headers, &name, |text| {
            let rest = below(text, &origin.0)?;
            Some(format!("{local}{rest}"))
        });
    }
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let own = |pair: &&str| {
        let rest = pair.trim().strip_prefix(LINK);
        !rest.is_some_and(|rest| rest.starts_with('='))
    };
    let others = cookies.flat_map(|value| value.split(';').filter(own));
    let others = others.map(str::trim).collect::<Vec<_>>().join("; ");
    headers.remove(COOKIE);
    if let Some(value) = HeaderValue::from_str(&others)
        .ok()
        .filter(|_| !others.is_empty())
    {
        headers.insert(COOKIE, value);
    }
}

/// Makes the headers of an answer of the server at a port those that a browser is sent.
pub(super) fn for_person(headers: &mut HeaderMap, port: u16, origin: &Origin) {
    let upgrade = headers.get(UPGRADE).cloned();
    remove_of_connection(headers);
    if let Some(protocol) = upgrade {
        let [name, connection] = OF_UPGRADE;
        headers.insert(name, protocol);
        headers.insert(connection, HeaderValue::from_static("upgrade"));
    }
    change(headers, &LOCATION, |text| {
        let names = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
        let mut names = names.iter();
        let rest = names.find_map(|name| below(text, &format!("http://{name}:{port}")))?;
        Some(format!("{}{rest}", origin.0))
    });
    // A cookie for a domain would be sent to the servers of other chats as well.
    let cookies = headers.get_all(SET_COOKIE).iter().map(|value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let parts = text.split(';').filter(|part| {
            let name = part.split('=').next().unwrap_or_default().trim();
            !name.eq_ignore_ascii_case("domain")
        });
        HeaderValue::from_str(&parts.collect::<Vec<_>>().join(";"))
    });
    let cookies: Vec<_> = cookies.flatten().collect();
    headers.remove(SET_COOKIE);
    for cookie in cookies {
        headers.append(SET_COOKIE, cookie);
    }
}

/// Returns what follows an origin in an address of it.
fn below<'a>(text: &'a str, origin: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(origin.len())?;
    let ends = rest.is_empty() || rest.starts_with(['/', '?', '#']);
    (ends && start.eq_ignore_ascii_case(origin)).then_some(rest)
}

/// Replaces the value of a header, if this makes another one of it.
fn change(headers: &mut HeaderMap, name: &HeaderName, make: impl Fn(&str) -> Option<String>) {
    let new = headers
        .get(name)
        .and_then(|value| make(value.to_str().ok()?));
    if let Some(value) = new.and_then(|new| HeaderValue::try_from(new).ok()) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        Origin::of_label("https://ports.example", "p80-a")
    }

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let fields = fields.iter();
        let fields =
            fields.map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_server_is_asked_by_its_own_name() {
        let mut sent = headers(&[
            ("host", "p80-a.ports.example"),
            ("origin", "https://P80-a.ports.example"),
            ("referer", "https://p80-a.ports.example/a?b"),
            ("connection", "keep-alive, x-hop, upgrade"),
            ("upgrade", "websocket"),
            ("x-hop", "1"),
            ("cookie", "a=1; toolhost-link=secret"),
            ("cookie", "toolhost-link=secret; b=2"),
        ]);
        for_server(&mut sent, 5173, &origin());
        let expected = headers(&[
            ("host", "localhost:5173"),
            ("origin", "http://localhost:5173"),
            ("referer", "http://localhost:5173/a?b"),
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("cookie", "a=1; b=2"),
        ]);
        assert_eq!(sent, expected);
        let mut foreign = headers(&[("origin", "https://p80-a.ports.example.evil")]);
        for_server(&mut foreign, 1, &origin());
        assert_eq!(foreign["origin"], "https://p80-a.ports.example.evil");
    }

    #[test]
    fn a_browser_sees_the_public_origin_alone() {
        let mut sent = headers(&[
            ("location", "http://localhost:80/next"),
            ("set-cookie", "a=1; Domain=ports.example; Path=/"),
            ("set-cookie", "b=2;domain=.example"),
            ("connection", "close"),
        ]);
        for_person(&mut sent, 80, &origin());
        let expected = headers(&[
            ("location", "https://p80-a.ports.example/next"),
            ("set-cookie", "a=1; Path=/"),
            ("set-cookie", "b=2"),
        ]);
        assert_eq!(sent, expected);
        for elsewhere in ["/next", "http://localhost:8000/", "https://example.com/"] {
            let mut sent = headers(&[("location", elsewhere)]);
            for_person(&mut sent, 80, &origin());
            assert_eq!(sent["location"], elsewhere);
        }
    }
}
