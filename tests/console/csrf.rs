//! No page but the console acts with its cookie.

use super::*;

/// The requests that the console sends to change something.
fn changes() -> Vec<(Method, &'static str)> {
    vec![
        (Method::PUT, "/v1/chats/a/calls/1"),
        (Method::POST, "/v1/chats/a/calls"),
        (Method::DELETE, "/v1/chats/a/calls/1"),
        (Method::DELETE, "/v1/chats/a"),
        (Method::POST, "/v1/chats/a/processes/x/signal"),
        (Method::POST, "/v1/chats/a/processes/x/input"),
        (Method::POST, "/v1/chats/a/processes/x/notices"),
        (Method::DELETE, "/v1/chats/a/notices/x"),
        (Method::PUT, "/v1/chats/a/files/changed"),
        (Method::DELETE, "/v1/chats/a/files/x"),
        (Method::POST, "/v1/chats/a/links"),
        (Method::POST, "/v1/plugins/shell/disable"),
        (Method::PUT, "/v1/workspaces/w"),
        (Method::POST, "/v1/workspaces/w"),
        (Method::POST, "/mcp"),
    ]
}

#[tokio::test]
async fn a_change_needs_the_header_that_other_pages_cannot_send() {
    let (_setup, server) = server().await;
    let mut browser = Browser::new(&server.url);
    browser.log_in(TOKEN).await;
    let cookie = browser.cookie.clone().unwrap();
    for (method, path) in changes() {
        let send = async |headers: &[(&str, &str)]| {
            let mut request = browser
                .client
                .request(method.clone(), format!("{}{path}", server.url))
                .header(COOKIE, &cookie)
                .body(execute("touch changed").to_string());
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (status, problem) = answer(request).await;
            (
                status,
                problem["code"].as_str().unwrap_or_default().to_owned(),
            )
        };
        let refused = |code: &str| (403, code.to_owned());
        let header = ("toolhost-console", "1");
        // A form, or a script of another page: it cannot add the header.
        assert_eq!(send(&[]).await, refused("console_header"), "{path}");
        let plain = ("content-type", "text/plain");
        assert_eq!(send(&[plain]).await, refused("console_header"), "{path}");
        // A browser says who asks, and which page.
        for site in ["cross-site", "same-site", "none"] {
            let site = ("sec-fetch-site", site);
            assert_eq!(
                send(&[site, header]).await,
                refused("foreign_origin"),
                "{path}"
            );
        }
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
            let origin = ("origin", origin);
            assert_eq!(
                send(&[origin, header]).await,
                refused("foreign_origin"),
                "{path}"
            );
        }
    }
    let (_, calls) = browser.get("/v1/calls").await;
    assert_eq!(calls["calls"], json!([]));
}

#[tokio::test]
async fn a_read_of_another_page_is_refused() {
    let (_setup, server) = server().await;
    let mut browser = Browser::new(&server.url);
    browser.log_in(TOKEN).await;
    let cookie = browser.cookie.clone().unwrap();
    for path in [
        "/v1/tools",
        "/v1/events",
        "/v1/chats/a/events",
        "/metrics",
        "/openapi.json",
    ] {
        for site in ["cross-site", "same-site"] {
            let request = browser.client.get(format!("{}{path}", server.url));
            let request = request
                .header(COOKIE, &cookie)
                .header("sec-fetch-site", site);
            let (status, problem) = answer(request).await;
            assert_eq!(
                (status, &problem["code"]),
                (403, &"foreign_origin".into()),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn no_page_of_an_allowed_origin_reads_with_the_cookie() {
    let (_setup, server) = server().await;
    let mut browser = Browser::new(&server.url);
    browser.log_in(TOKEN).await;
    let response = browser.follow("/v1/tools").await;
    // With this header, a browser would let pages of other origins send cookies.
    let allows = response.headers().get("access-control-allow-credentials");
    assert_eq!((response.status().as_u16(), allows), (200, None));
}
