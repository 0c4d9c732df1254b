//! The server, over real sockets.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolhost::server::{Access, Token, serve};

use crate::guest::{guest, options};
use crate::harness::{PATIENCE, Server, Setup, TOKEN, is_alive};

async fn server() -> (Setup, Server) {
    let setup = Setup::new().await;
    let server = Server::start(setup.host.clone()).await;
    (setup, server)
}

fn execute(command: &str) -> Value {
    json!({ "tool": "execute", "arguments": { "command": command } })
}

/// Sends bytes on a connection of its own and returns everything that comes back until it is closed.
async fn raw(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://"))
        .await
        .unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_call_as_the_design_shows_it() {
    let (_setup, server) = server().await;
    let (status, body) = server
        .put("support-42", "call_7Qx", execute("echo hello"))
        .await;
    assert_eq!(status, 200);
    for (field, value) in [
        ("id", json!("call_7Qx")),
        ("tool", json!("execute")),
        ("state", json!("finished")),
        ("is_error", json!(false)),
        ("queued_ms", json!(0)),
    ] {
        assert_eq!(body[field], value, "{field}");
    }
    assert_eq!(body["content"][0]["type"], "json");
    assert_eq!(body["content"][0]["json"], body["structured"]);
    assert_eq!(body["structured"]["output"], "hello\n");
    assert_eq!(body["processes"].as_array().unwrap().len(), 1);
    assert!(body["duration_ms"].is_u64());
}

#[tokio::test]
async fn a_repeat_gets_the_same_bytes_and_runs_nothing() {
    let (setup, server) = server().await;
    let body = execute("echo x >> counter; cat counter").to_string();
    let send = async |body: String| {
        let request = server
            .request(Method::PUT, "/v1/chats/a/calls/1")
            .body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap())
    };
    let first = send(body.clone()).await;
    assert_eq!(first.0, 200);
    assert_eq!(send(body).await, first);
    let spaced =
        r#" { "arguments" : {"command":"echo x >> counter; cat counter"} , "tool":"execute" } "#;
    assert_eq!(send(spaced.to_owned()).await, first);
    assert_eq!(setup.file("counter").await, "x\n");
    let (status, problem) = server.put("a", "1", execute("echo other")).await;
    assert_eq!((status, &problem["code"]), (409, &json!("input_mismatch")));
    // The same id in another chat is another call.
    assert_eq!(
        server.put("b", "1", execute("echo x >> counter")).await.0,
        200
    );
    assert_eq!(setup.file("counter").await, "x\nx\n");
}

#[tokio::test]
async fn parallel_repeats_share_one_execution_and_a_lost_connection_detaches() {
    let (setup, server) = server().await;
    nix::unistd::mkfifo(&setup.root().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = execute("echo x >> counter; cat go");
    // A client that sends the call and leaves.
    let text = body.to_string();
    let mut lost = TcpStream::connect(server.url.trim_start_matches("http://"))
        .await
        .unwrap();
    let head = format!(
        "PUT /v1/chats/a/calls/1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    lost.write_all(format!("{head}{text}").as_bytes())
        .await
        .unwrap();
    setup.file("counter").await;
    drop(lost);
    let callers = (0..50).map(|_| server.put("a", "1", body.clone()));
    let all = futures_util::future::join_all(callers);
    let go = setup.root().join("go");
    // The writer of a FIFO waits for its reader, the command.
    let opened = tokio::task::spawn_blocking(move || std::fs::write(go, "done\n").unwrap());
    let (all, opened) = tokio::join!(all, opened);
    opened.unwrap();
    for (status, answer) in &all {
        assert_eq!(
            (*status, &answer["structured"]["output"]),
            (200, &json!("done\n"))
        );
        assert_eq!(answer, &all[0].1);
    }
    assert_eq!(setup.file("counter").await, "x\n");
}

#[tokio::test]
async fn errors_of_a_tool_are_replies() {
    let (_setup, server) = server().await;
    let (status, body) = server
        .put("a", "1", json!({ "tool": "execute", "arguments": {} }))
        .await;
    assert_eq!(
        (status, &body["is_error"], &body["state"]),
        (200, &json!(true), &json!("finished"))
    );
    assert_eq!(
        body["content"],
        json!([{ "type": "text", "text": "command is required" }])
    );
    assert_eq!(body["error"]["kind"], "invalid_arguments");
    let (status, body) = server
        .put("a", "2", json!({ "tool": "process_list" }))
        .await;
    assert_eq!((status, &body["is_error"]), (200, &json!(false)));
}

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
        ("/v1/chats/a/calls/1", of("[]"), 400, "object"),
        (
            "/v1/chats/a/calls/1",
            of(r#"{"a":1,"a":2}"#),
            400,
            "occurs twice",
        ),
        (
            "/v1/chats/a/calls/1",
            of(&format!(r#"{{"a":{nested}}}"#)),
            400,
            "deeper than 64",
        ),
        ("/v1/chats/a/calls/1", of(&large), 413, "1048576"),
        ("/v1/chats/a/calls/1", "x".repeat(2 << 20), 413, ""),
        ("/v1/chats/a%20b/calls/1", of("{}"), 400, "chat id"),
        ("/v1/chats/a/calls/a%2Fb", of("{}"), 400, "call id"),
        ("/v1/chats/a/calls/%ff", of("{}"), 400, ""),
        (
            "/v1/chats/a/calls/1",
            r#"{"tool":"nope"}"#.to_owned(),
            404,
            "the tools are execute",
        ),
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
    let response = server
        .request(Method::POST, "/v1/tools")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 405);
}

#[tokio::test]
async fn tools_in_every_format() {
    let (setup, server) = server().await;
    for format in toolhost::Format::ALL {
        let response = server
            .request(Method::GET, &format!("/v1/tools?format={format}"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(
            response.json::<Value>().await.unwrap(),
            format.render(setup.host.tools()),
            "{format}"
        );
    }
    for bad in ["format=nope", "fromat=json"] {
        let response = server
            .request(Method::GET, &format!("/v1/tools?{bad}"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 400, "{bad}");
    }
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

fn access() -> Access {
    Access {
        token: Token::new(TOKEN).unwrap(),
        hosts: Vec::new(),
        origins: vec!["https://chat.example.com".into()],
    }
}

#[tokio::test]
async fn pages_of_a_known_origin_can_use_the_server() {
    let setup = Setup::new().await;
    let url = format!("{}/v1/chats/a/calls/1", for_pages(&setup).await);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let preflight = async |origin: &'static str| {
        let request = client.request(Method::OPTIONS, &url);
        let request = request
            .header("origin", origin)
            .header("access-control-request-method", "PUT")
            .header(
                "access-control-request-headers",
                "authorization,content-type",
            );
        request.send().await.unwrap()
    };
    let allowed = preflight("https://chat.example.com").await;
    assert_eq!(allowed.status(), 200);
    for (name, value) in [
        ("access-control-allow-origin", "https://chat.example.com"),
        ("access-control-allow-methods", "GET,PUT,DELETE"),
        ("access-control-allow-headers", "authorization,content-type"),
    ] {
        assert_eq!(allowed.headers()[name], value, "{name}");
    }
    let foreign = preflight("https://evil.example").await;
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
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
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

#[tokio::test]
async fn headers_are_bounded_together() {
    use tower::ServiceExt;
    let setup = Setup::new().await;
    let router = toolhost::server::router(setup.host.clone(), access());
    let ask = async |size: usize| {
        let mut request = axum::http::Request::get("/healthz").header("host", "localhost");
        for index in 0..64 {
            request = request.header(format!("x-{index:02}"), "y".repeat(size));
        }
        let local = toolhost::server::LocalAddress("127.0.0.1:1".parse().unwrap());
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

#[tokio::test]
async fn too_many_calls_are_told_to_come_back() {
    let limits = toolhost::plugin::Limits {
        concurrent_calls: 1,
        ..Default::default()
    };
    let setup = Setup::with(|builder| {
        let looping = toolhost::Options {
            limits,
            ..options("looping")
        };
        builder
            .without_shell()
            .plugin(guest("endless_loop"), looping)
    })
    .await;
    let server = Server::start(setup.host.clone()).await;
    let body = json!({ "tool": "t" });
    let first = server.put("a", "1", body.clone());
    let refused = async {
        // Until the first call has its place, the second may take it and loop for its two seconds.
        loop {
            let id = toolhost::CallId::random();
            let path = format!("/v1/chats/a/calls/{id}");
            let response = server
                .request(Method::PUT, &path)
                .json(&body)
                .send()
                .await
                .unwrap();
            if response.status() == 429 {
                return response;
            }
        }
    };
    let (first, refused) = tokio::join!(first, refused);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert!(first.0 == 429 || first.1["state"] == "failed", "{first:?}");
}

#[tokio::test]
async fn a_chat_can_be_ended() {
    let (setup, server) = server().await;
    server
        .put("a", "1", execute("echo $$ > pid; exec sleep 1000 &"))
        .await;
    let (_, started) = server
        .put("a", "2", execute("echo $$ > pid; exec sleep 1000 &"))
        .await;
    assert_eq!(started["structured"]["backgrounded"], true, "{started}");
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    let response = server
        .request(Method::DELETE, "/v1/chats/a")
        .send()
        .await
        .unwrap();
    let ended: Value = response.json().await.unwrap();
    assert_eq!(ended["ended"].as_array().unwrap().len(), 2);
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn shutdown_gets_replies_out_and_ends_what_was_started() {
    let (setup, server) = server().await;
    let request = server.request(Method::PUT, "/v1/chats/a/calls/1");
    let body = json!({
        "tool": "execute", "arguments": { "command": "echo $$ > pid; exec sleep 1000", "timeout": "1h" }
    });
    let running = tokio::spawn(request.json(&body).send());
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    let url = server.url.clone();
    server.stop().await;
    let answer: Value = running.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(
        (&answer["state"], &answer["structured"]["cancelled"]),
        (&json!("cancelled"), &json!(true))
    );
    assert!(!is_alive(pid));
    assert!(
        TcpStream::connect(url.trim_start_matches("http://"))
            .await
            .is_err()
    );
}
