//! Requests that no honest client sends.

mod clients;

use super::*;

#[tokio::test]
async fn broken_requests_say_what_is_wrong() {
    let (_setup, server) = server().await;
    let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let large = format!(r#"{{"command":"{}"}}"#, "x".repeat(1 << 20));
    let of = |arguments: &str| format!(r#"{{"tool":"execute","arguments":{arguments}}}"#);
    for (path, body, status, text) in [
        ("/v1/chats/a/calls/1", "{".to_owned(), 400, "EOF"),
        ("/v1/chats/a/calls/1", "{}".to_owned(), 400, "tool"),
        (
            "/v1/chats/a/calls/1",
            r#"{"tool":"execute","extra":1}"#.to_owned(),
            400,
            "extra",
        ),
        ("/v1/chats/a/calls/1", "x".repeat(2 << 20), 413, ""),
        ("/v1/chats/a%20b/calls/1", of("{}"), 400, "chat id"),
        ("/v1/chats/a/calls/a%2Fb", of("{}"), 400, "call id"),
        ("/v1/chats/a/calls/%ff", of("{}"), 400, ""),
        ("/v1/nothing", String::new(), 404, "/v1/nothing"),
    ] {
        let response = server
            .request(Method::PUT, path)
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), status, "{path} {text}");
        assert_eq!(
            response.headers()["content-type"],
            "application/problem+json",
            "{path} {text}"
        );
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["status"], status);
        assert!(
            problem["detail"].as_str().unwrap().contains(text),
            "{problem}"
        );
    }
    // The mistakes of a model are for the model to read. None is kept: the same call can be made anew.
    for (body, kind, text) in [
        (of(r#"{"a":1,"a":2}"#), "invalid_arguments", "occurs twice"),
        (of("[]"), "invalid_arguments", "not an array"),
        (of("5"), "invalid_arguments", "not a number"),
        (of(r#""ls -la""#), "invalid_arguments", "not a string"),
        (of(&large), "invalid_arguments", "such as a file in parts"),
        (
            of(&format!(r#"{{"a":{nested}}}"#)),
            "invalid_arguments",
            "deeper than 64",
        ),
        (
            of(r#""{\"command\": ""#),
            "invalid_arguments",
            "not valid JSON",
        ),
        (
            r#"{"tool":"nope"}"#.to_owned(),
            "unknown_tool",
            "the tools are execute",
        ),
        (
            r#"{"tool":"run_script"}"#.to_owned(),
            "unknown_tool",
            "scripts are off, and `tool_mode` of the server turns them on",
        ),
        (of(r#""{\"command\":\"echo hi\"}""#), "", "hi"),
    ] {
        let request = server
            .request(Method::PUT, "/v1/chats/a/calls/1")
            .body(body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{text}");
        let outcome: Value = response.json().await.unwrap();
        assert_eq!(outcome["is_error"], !kind.is_empty(), "{outcome}");
        assert_eq!(
            outcome["error"]["kind"].as_str().unwrap_or_default(),
            kind,
            "{outcome}"
        );
        assert!(outcome["content"].to_string().contains(text), "{outcome}");
    }
    // What providers send for a tool without arguments.
    for (call, none) in ["null", r#""""#, r#"" ""#, r#""null""#].iter().enumerate() {
        let body = format!(r#"{{"tool":"process_list","arguments":{none}}}"#);
        let path = format!("/v1/chats/b/calls/{call}");
        let response = server.request(Method::PUT, &path).body(body).send().await;
        let outcome: Value = response.unwrap().json().await.unwrap();
        assert_eq!(outcome["is_error"], false, "{none}: {outcome}");
    }
    let response = server
        .request(Method::POST, "/v1/tools")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 405);
}

#[tokio::test]
async fn headers_are_bounded_together() {
    use tower::ServiceExt;
    let setup = Setup::new().await;
    let router = toolhost_server::router(setup.host.clone(), access());
    let ask = async |size: usize| {
        let mut request = axum::http::Request::get("/healthz").header("host", "localhost");
        for index in 0..64 {
            request = request.header(format!("x-{index:02}"), "y".repeat(size));
        }
        let local = toolhost_http::access::LocalAddress("127.0.0.1:1".parse().unwrap());
        let request = request.extension(local).body(axum::body::Body::empty());
        let answer = router.clone().oneshot(request.unwrap()).await;
        answer.unwrap().status().as_u16()
    };
    assert_eq!(ask(1000).await, 200);
    assert_eq!(ask(1024).await, 431);
}

#[tokio::test]
async fn hostile_bytes_disturb_nobody() {
    let (_setup, server) = server().await;
    let flood: String = (0..5000)
        .map(|index| format!("x-{index}: {}\r\n", "y".repeat(100)))
        .collect();
    for request in [
        "\0\0\0\0\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{flood}\r\n"),
        "PUT /v1/chats/a/calls/1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n"
            .to_owned(),
    ] {
        let answer = raw(&server, &request).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    assert_eq!(server.put("a", "1", execute("true")).await.0, 200);
}
