//! Tests of the requests that a cookie may send.

use axum::http::HeaderValue;

use super::*;
use crate::access::{Scope, Token};

/// The key and the token of the tests.
const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];

fn access() -> (Access, Console) {
    let console = Console::new(KEY, Audit::default());
    let reader = Principal::new("a", [Scope::Read], None, None);
    let access = Access {
        tokens: Tokens::new([(Token::new("t0ken").unwrap(), reader)]),
        console: Some(console.clone()),
        ..Access::default()
    };
    (access, console)
}

/// Returns the name and the value of the cookie that a header `Set-Cookie` sets.
fn pair(header: &str) -> String {
    header.split(';').next().unwrap().to_owned()
}

fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in list {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

#[test]
fn a_cookie_is_taken_from_the_console_alone() {
    let (access, console) = access();
    let set = console
        .with_token(&access, " t0ken\n", &Extensions::new())
        .unwrap();
    assert!(set.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=86400"));
    let cookie = pair(&set);
    let asked = |method: Method, more: &[(&'static str, &str)]| {
        let all = [&[("cookie", &*cookie)], more].concat();
        match access.client(&method, &headers(&all), &Extensions::new()) {
            Ok(client) => client.principal.name().to_owned(),
            Err(problem) => problem.code().to_owned(),
        }
    };
    let (own, header) = (("sec-fetch-site", "same-origin"), ("toolhost-console", "1"));
    assert_eq!(asked(Method::GET, &[]), "a");
    assert_eq!(asked(Method::HEAD, &[own]), "a");
    assert_eq!(asked(Method::GET, &[("sec-fetch-site", "none")]), "a");
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
        assert_eq!(asked(method.clone(), &[own, header]), "a");
        assert_eq!(asked(method.clone(), &[header]), "a");
        assert_eq!(asked(method.clone(), &[own]), "console_header");
        let other = ("toolhost-console", "0");
        assert_eq!(asked(method.clone(), &[own, other]), "console_header");
        let typed = ("sec-fetch-site", "none");
        assert_eq!(asked(method, &[typed, header]), "foreign_origin");
    }
    for site in ["same-site", "cross-site", ""] {
        let site = ("sec-fetch-site", site);
        assert_eq!(asked(Method::GET, &[site]), "foreign_origin");
        assert_eq!(asked(Method::POST, &[site, header]), "foreign_origin");
    }
    // A client that sends a token is the principal of that token, whatever its cookies are.
    let wrong = ("authorization", "Bearer wrong");
    assert_eq!(asked(Method::GET, &[wrong]), "wrong_token");
    let right = ("authorization", "Bearer t0ken");
    assert_eq!(asked(Method::POST, &[right]), "a");
}

#[test]
fn a_cookie_of_another_server_leaves_ours_valid() {
    let (access, console) = access();
    let ours = console.with_token(&access, "t0ken", &Extensions::new());
    let ours = pair(&ours.unwrap());
    let other = Console::new([8; KEY_BYTES], Audit::default());
    let theirs = pair(
        &other
            .with_token(&access, "t0ken", &Extensions::new())
            .unwrap(),
    );
    let asked = |cookies: &[&str]| {
        let cookies: Vec<_> = cookies.iter().map(|cookie| ("cookie", *cookie)).collect();
        let client = access.client(&Method::GET, &headers(&cookies), &Extensions::new());
        client.map_err(|problem| problem.code())
    };
    assert!(asked(&[&format!("x=1; {theirs}; {ours}")]).is_ok());
    assert!(asked(&[&theirs, &ours]).is_ok());
    assert_eq!(asked(&[&theirs]).unwrap_err(), "wrong_token");
    assert_eq!(asked(&["toolhost-console="]).unwrap_err(), "wrong_token");
    assert_eq!(asked(&["toolhost-consoles=1"]).unwrap_err(), "no_token");
}

#[test]
fn a_link_logs_in_while_its_token_is_valid() {
    let (access, console) = access();
    let principal = access.tokens.authenticate(b"t0ken").unwrap();
    let code = |link: &str| link.rsplit_once('=').unwrap().1.to_owned();
    let redeem = |code: &str| console.with_code(&access, code, &Extensions::new());
    let first = code(&console.link(&principal));
    assert!(redeem(&first).is_some() && redeem(&first).is_none());
    let second = code(&console.link(&principal));
    access.tokens.replace([]);
    assert!(redeem(&second).is_none());
}

#[test]
fn a_cookie_over_tls_is_sent_over_tls_alone() {
    let (access, console) = access();
    let mut extensions = Extensions::new();
    extensions.insert(Channel::Tls);
    let set = console.with_token(&access, "t0ken", &extensions).unwrap();
    assert!(set.ends_with("; Secure"), "{set}");
}

#[test]
fn failed_logins_are_bounded_for_each_address() {
    let (access, console) = access();
    let from = |address: &str| {
        let mut extensions = Extensions::new();
        extensions.insert(Peer(address.parse().unwrap()));
        extensions
    };
    let (one, other) = (from("192.0.2.1"), from("192.0.2.2"));
    let try_to = |token: &str, from: &Extensions| {
        let tried = console.with_token(&access, token, from);
        tried.err().map(|problem| problem.code())
    };
    for _ in 0..5 {
        assert_eq!(try_to("wrong", &one), Some("wrong_token"));
        assert!(console.with_code(&access, "wrong", &one).is_none());
    }
    assert_eq!(try_to("t0ken", &one), Some("busy"));
    assert_eq!(try_to("t0ken", &other), None);
}
