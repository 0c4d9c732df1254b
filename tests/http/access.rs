//! Access over HTTP: tokens, origins and names of hosts.

mod configured;
mod sockets;
mod tls;
mod tokens;
mod tools;

use tokio::io::{AsyncRead, AsyncWrite};

use super::*;

/// Asks for the tools with these headers, and returns the status.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, headers: &str) -> u16 {
    let request = format!("GET /v1/tools HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The end of TLS may come without its notice.
    _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    status.expect("it answers").parse().unwrap()
}

#[tokio::test]
async fn nobody_gets_in_without_the_token() {
    let (_setup, server) = server().await;
    let tools = format!("{}/v1/tools", server.url);
    for header in [
        None,
        Some("Bearer wrong"),
        Some("Bearer "),
        Some("Basic YTpi"),
        Some(TOKEN),
    ] {
        let mut request = server.client.get(&tools);
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{header:?}");
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
    }
    let health = server
        .client
        .get(format!("{}/healthz", server.url))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (health.status().as_u16(), health.text().await.unwrap()),
        (200, r#"{"status":"ok"}"#.to_owned())
    );
}

#[tokio::test]
async fn foreign_names_and_pages_are_refused() {
    let (_setup, server) = server().await;
    let ask = async |header: &'static str, value: String| {
        server
            .request(Method::GET, "/v1/tools")
            .header(header, value)
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    let port = server.url.rsplit(':').next().unwrap();
    assert_eq!(ask("host", "evil.example".into()).await, 403);
    assert_eq!(ask("host", format!("127.0.0.2:{port}")).await, 403);
    assert_eq!(ask("host", format!("localhost:{port}")).await, 200);
    assert_eq!(ask("origin", "http://evil.example".into()).await, 403);
    assert_eq!(ask("origin", "null".into()).await, 403);
    assert_eq!(ask("origin", server.url.clone()).await, 200);
    // Also where there is nothing to protect but the fact that a server runs here.
    let health = server
        .client
        .get(format!("{}/healthz", server.url))
        .header("host", "evil.example")
        .send()
        .await;
    assert_eq!(health.unwrap().status(), 403);
    let bare = raw(
        &server,
        "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(bare.starts_with("HTTP/1.1 400 "), "{bare}");
}

/// A server that the pages of one origin may use, by its address.
async fn for_pages(setup: &Setup) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let host = setup.host.clone();
    tokio::spawn(serve(listener, host, access(), std::future::pending()));
    url
}

#[tokio::test]
async fn pages_of_a_known_origin_can_use_the_server() {
    let setup = Setup::new().await;
    let base = for_pages(&setup).await;
    let url = format!("{base}/v1/chats/a/calls/1");
    let client = crate::harness::client();
    let preflight = async |origin: &'static str, path: &str, method: &str, headers: &str| {
        let request = client.request(Method::OPTIONS, format!("{base}{path}"));
        let request = request
            .header("origin", origin)
            .header("access-control-request-method", method)
            .header("access-control-request-headers", headers);
        request.send().await.unwrap()
    };
    // What clients of each surface send.
    for (path, method, headers) in [
        (
            "/v1/chats/a/calls/1",
            "PUT",
            "x-request-id,traceparent,tracestate",
        ),
        ("/v1/tools", "GET", "if-none-match"),
        ("/v1/chats/a/events", "GET", "last-event-id"),
        (
            "/mcp",
            "POST",
            "mcp-session-id,mcp-protocol-version,mcp-method,mcp-name,mcp-param-region,toolhost-chat",
        ),
        (
            "/mcp",
            "GET",
            "mcp-session-id,mcp-protocol-version,last-event-id",
        ),
        ("/mcp", "DELETE", "mcp-session-id"),
        (
            "/api/v0/processes/start",
            "POST",
            "coder-chat-id,coder-ancestor-chat-ids,coder-tool-call-id",
        ),
    ] {
        let headers = format!("authorization,content-type,{headers}");
        let allowed = preflight("https://chat.example.com", path, method, &headers).await;
        assert_eq!(allowed.status(), 200);
        let list = |name: &str| {
            let value = allowed.headers()[name].to_str().unwrap();
            value.split(',').map(str::to_owned).collect::<Vec<_>>()
        };
        let origins = list("access-control-allow-origin");
        assert_eq!(origins, ["https://chat.example.com"]);
        let methods = list("access-control-allow-methods");
        assert_eq!(methods, ["GET", "PUT", "POST", "DELETE"]);
        let known = list("access-control-allow-headers");
        for header in headers.split(',') {
            assert!(
                known.iter().any(|known| known == header),
                "{path}: {header}"
            );
        }
    }
    let foreign = preflight("https://evil.example", "/mcp", "POST", "authorization").await;
    assert_eq!(foreign.status(), 403);
    let shown = |response: &reqwest::Response| {
        let headers = response.headers();
        let vary = headers.get("vary").map(|vary| vary.to_str().unwrap());
        headers.get("access-control-allow-origin").is_some()
            && vary.is_some_and(|vary| vary.contains("origin"))
    };
    assert!(!shown(&foreign));
    let put = || {
        let request = client
            .put(&url)
            .header("origin", "https://chat.example.com");
        request.header("content-type", "application/json")
    };
    let body = execute("echo hello").to_string();
    let reply = put().bearer_auth(TOKEN).body(body.clone()).send().await;
    let reply = reply.unwrap();
    assert!(reply.status() == 200 && shown(&reply), "{reply:?}");
    // And what it needs of the headers.
    let exposed = reply.headers()["access-control-expose-headers"].to_str();
    let exposed: Vec<_> = exposed.unwrap().split(',').collect();
    for header in [
        "etag",
        "location",
        "retry-after",
        "www-authenticate",
        "x-request-id",
        "mcp-session-id",
        "toolhost-output-offset",
        "toolhost-output-total",
        "toolhost-output-end",
    ] {
        assert!(exposed.contains(&header), "{header}");
    }
    // A page is told as well what went wrong, also by the framework.
    for (request, status) in [
        (put().body(body), 401),
        (put().bearer_auth(TOKEN).body("x".repeat(2 << 20)), 413),
    ] {
        let refused = request.send().await.unwrap();
        assert_eq!(refused.status(), status);
        assert!(shown(&refused), "{refused:?}");
    }
}

#[tokio::test]
async fn a_second_origin_is_refused() {
    let setup = Setup::new().await;
    let url = format!("{}/v1/tools", for_pages(&setup).await);
    let client = crate::harness::client();
    let ask = async |origins: &[&'static str]| {
        let mut request = client.get(&url).bearer_auth(TOKEN);
        for origin in origins {
            request = request.header("origin", *origin);
        }
        request.send().await.unwrap().status().as_u16()
    };
    let known = "https://chat.example.com";
    assert_eq!(ask(&[known]).await, 200);
    assert_eq!(ask(&[known, "https://evil.example"]).await, 403);
    assert_eq!(ask(&[known, known]).await, 403);
}
