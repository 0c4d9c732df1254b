//! Calls, repeats, chats and the end of a server.

use super::*;
use crate::harness::until;

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
    ] {
        assert_eq!(body[field], value, "{field}");
    }
    assert_eq!(body["content"][0]["type"], "json");
    assert_eq!(body["content"][0]["json"], body["structured"]);
    assert_eq!(body["structured"]["output"], "hello\n");
    assert_eq!(body["processes"].as_array().unwrap().len(), 1);
    assert!(body["duration_ms"].is_u64() && body["queued_ms"].is_u64());
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
async fn two_spellings_of_a_number_are_one_call() {
    let (_setup, server) = server().await;
    let call = async |id: &str, offset: &str| {
        let request = server.request(Method::PUT, &format!("/v1/chats/a/calls/{id}"));
        let arguments = format!(r#"{{"path": ".", "offset": {offset}}}"#);
        let body = format!(r#"{{"tool": "read_file", "arguments": {arguments}}}"#);
        let response = request
            .header("content-type", "application/json")
            .body(body);
        let response = response.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let first = call("1", "1.0").await;
    assert!(
        first.0 == 200 && first.1.contains("\"is_error\":false"),
        "{first:?}"
    );
    assert_eq!(call("1", "1").await, first);
    assert_eq!(call("1", "10e-1").await, first);
    assert_eq!(call("1", "2").await.0, 409);
}

#[tokio::test]
async fn too_many_calls_are_told_to_come_back() {
    let limits = toolhost_plugin::Limits {
        concurrent_calls: 1,
        cancel_grace: std::time::Duration::ZERO,
        ..Default::default()
    };
    let setup = Setup::with(|builder| {
        let sleeping = toolhost_core::Options {
            limits,
            ..options("sleeping")
        };
        builder
            .without_shell()
            .plugin(guest("endless_sleep"), sleeping)
    })
    .await;
    let server = Server::start(setup.host.clone()).await;
    let body = json!({ "tool": "t" });
    let first = server.put("a", "1", body.clone());
    let refused = async {
        until("the first call has its place", || {
            (setup.host.running_calls() == 1).then_some(())
        })
        .await;
        let path = "/v1/chats/a/calls/2";
        let request = server.request(Method::PUT, path).json(&body);
        let refused = request.send().await.unwrap();
        let cancel = server.request(Method::DELETE, "/v1/chats/a/calls/1");
        assert!(cancel.send().await.unwrap().status().is_success());
        refused
    };
    let (first, refused) = tokio::join!(first, refused);
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!((first.0, &first.1["state"]), (200, &json!("cancelled")));
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
    let path = "/v1/chats/ended-by-shutdown/calls/1";
    let request = server.request(Method::PUT, path);
    let body = json!({
        "tool": "execute", "arguments": { "command": "echo $$ > pid; exec sleep 1000", "timeout": "1h" }
    });
    let running = tokio::spawn(request.json(&body).send());
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    let lookup = server.request(Method::GET, path);
    server.stop().await;
    let answer: Value = running.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(
        (&answer["state"], &answer["structured"]["cancelled"]),
        (&json!("cancelled"), &json!(true))
    );
    assert!(!is_alive(pid));
    // Nobody listens, or the server of another test, which has got the port since.
    if let Ok(answer) = lookup.send().await {
        assert_eq!(answer.status(), 404);
    }
}

/// Sends a request and returns the status, one header and the body as it came.
pub(super) async fn send(
    request: reqwest::RequestBuilder,
    header: &str,
) -> (u16, Option<String>, String) {
    let response = request.send().await.unwrap();
    let value = response.headers().get(header);
    let value = value.map(|value| value.to_str().unwrap().to_owned());
    (
        response.status().as_u16(),
        value,
        response.text().await.unwrap(),
    )
}

async fn code(request: reqwest::RequestBuilder) -> (u16, String) {
    let (status, kind, body) = send(request, "content-type").await;
    assert_eq!(kind.as_deref(), Some("application/problem+json"), "{body}");
    let problem: Value = serde_json::from_str(&body).unwrap();
    let code = problem["code"].as_str().unwrap();
    assert_eq!(problem["type"], format!("urn:toolhost:problem:{code}"));
    assert_eq!(problem["status"], status);
    (status, code.to_owned())
}

#[tokio::test]
async fn without_an_id_every_request_runs() {
    let (setup, server) = server().await;
    let mut addresses = Vec::new();
    for runs in 1..=2 {
        let request = server.request(Method::POST, "/v1/chats/a/calls");
        let request = request.json(&execute("echo x >> counter; cat counter"));
        let (status, location, body) = send(request, "location").await;
        let location = location.unwrap();
        assert_eq!(status, 200, "{body}");
        let outcome: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(outcome["structured"]["output"], "x\n".repeat(runs));
        let id = outcome["id"].as_str().unwrap();
        assert_eq!(location, format!("/v1/chats/a/calls/{id}"));
        let again = send(server.request(Method::GET, &location), "location").await;
        assert_eq!(again, (200, None, body));
        addresses.push(location);
    }
    assert_ne!(addresses[0], addresses[1]);
    // Nothing of a mistake of the model is kept, so that it has no address.
    let request = server.request(Method::POST, "/v1/chats/a/calls");
    let (status, location, _) = send(request.json(&json!({ "tool": "nope" })), "location").await;
    assert_eq!((status, location), (200, None));
    assert_eq!(setup.file("counter").await, "x\nx\n");
}

#[tokio::test]
async fn a_call_without_an_id_ends_with_its_connection() {
    let (setup, server) = server().await;
    let body = execute("echo $$ > pid; exec sleep 1000").to_string();
    let mut lost = TcpStream::connect(server.url.trim_start_matches("http://"))
        .await
        .unwrap();
    let head = format!(
        "POST /v1/chats/a/calls HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    lost.write_all(format!("{head}{body}").as_bytes())
        .await
        .unwrap();
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    drop(lost);
    crate::harness::until_dead(pid).await;
}

#[tokio::test]
async fn a_call_can_be_looked_at_and_cancelled_in_its_chat_only() {
    let (setup, server) = server().await;
    let request = server.request(Method::PUT, "/v1/chats/a/calls/1");
    let body = json!({
        "tool": "execute", "arguments": { "command": "echo partial; echo $$ > pid; exec sleep 1000", "timeout": "1h" }
    });
    let caller = tokio::spawn(send(request.json(&body), "location"));
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    let ask = |method, chat| server.request(method, &format!("/v1/chats/{chat}/calls/1"));
    let (status, _, standing) = send(ask(Method::GET, "a"), "location").await;
    let standing: Value = serde_json::from_str(&standing).unwrap();
    assert_eq!((status, &standing["id"]), (200, &json!("1")));
    assert_eq!(
        (&standing["tool"], &standing["state"]),
        (&json!("execute"), &json!("running"))
    );
    assert!(standing["running_ms"].is_u64(), "{standing}");
    // For another chat there is no such call, and cancelling it there tombstones that chat's own.
    let unknown = (404, "unknown_call".to_owned());
    assert_eq!(code(ask(Method::GET, "b")).await, unknown);
    let tombstone = send(ask(Method::DELETE, "b"), "location").await;
    assert_eq!(tombstone, (204, None, String::new()));
    assert!(is_alive(pid));
    let refused = (409, "cancelled".to_owned());
    let own = ask(Method::PUT, "b").json(&execute("echo x > ran"));
    assert_eq!(code(own).await, refused);
    assert!(!setup.root().join("ran").exists());
    let (status, _, tombstone) = send(ask(Method::GET, "b"), "location").await;
    let tombstone: Value = serde_json::from_str(&tombstone).unwrap();
    assert_eq!(
        (status, tombstone),
        (
            200,
            json!({ "id": "1", "state": "cancelled", "tombstone": true })
        )
    );
    // Cancelling waits, and everybody gets the same.
    let cancelled = send(ask(Method::DELETE, "a"), "location").await;
    crate::harness::until_dead(pid).await;
    let outcome: Value = serde_json::from_str(&cancelled.2).unwrap();
    assert_eq!(
        (
            cancelled.0,
            &outcome["state"],
            &outcome["structured"]["output"]
        ),
        (200, &json!("cancelled"), &json!("partial\n"))
    );
    assert_eq!(caller.await.unwrap(), cancelled);
    assert_eq!(send(ask(Method::GET, "a"), "location").await, cancelled);
    assert_eq!(send(ask(Method::DELETE, "a"), "location").await, cancelled);
    assert_eq!(code(ask(Method::PUT, "a").json(&body)).await, refused);
}

#[tokio::test]
async fn what_is_no_json_object_is_refused() {
    let (_setup, server) = server().await;
    let send = |kind: &'static str, body: &'static str| {
        let request = server.request(Method::PUT, "/v1/chats/a/calls/1");
        code(request.header("content-type", kind).body(body))
    };
    let plain = send("text/plain", r#"{"tool":"process_list"}"#).await;
    assert_eq!(plain, (415, "unsupported_media_type".into()));
    for body in [
        r#"["process_list"]"#,
        "null",
        "",
        r#"{"tool":"process_list","tool":"execute"}"#,
        r#"{"tool":"process_list","attributes":{"a":"1","a":"2"}}"#,
    ] {
        let refused = send("application/json", body).await;
        assert_eq!(refused, (400, "broken_request".into()), "{body}");
    }
    let body = r#"{"tool":"process_list"}"#;
    let request = server.request(Method::PUT, "/v1/chats/a/calls/1");
    let ran = request.header("content-type", "application/json; charset=utf-8");
    assert_eq!(ran.body(body).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn wrong_methods_are_told_the_right_ones() {
    let (_setup, server) = server().await;
    for (path, method, allowed) in [
        ("/v1/chats/a/calls/1", Method::PATCH, "DELETE,GET,HEAD,PUT"),
        ("/v1/chats/a/calls", Method::PUT, "GET,HEAD,POST"),
        ("/v1/tools", Method::POST, "GET,HEAD"),
        ("/healthz", Method::POST, "GET,HEAD"),
        ("/openapi.json", Method::DELETE, "GET,HEAD"),
        ("/docs/", Method::PUT, "GET,HEAD"),
    ] {
        let (status, allow, body) = send(server.request(method, path), "allow").await;
        let mut names: Vec<_> = allow.as_deref().unwrap().split(',').collect();
        names.sort_unstable();
        assert_eq!((status, names.join(",").as_str()), (405, allowed), "{path}");
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["code"], "method_not_allowed", "{path}");
    }
}

#[tokio::test]
async fn a_host_that_shuts_down_says_when_to_come_back() {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;
    let setup = Setup::new().await;
    let router = toolhost_server::router(setup.host.clone(), access());
    let ask = async |method: &str, path: &str, body: &str| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {TOKEN}"))
            .extension(toolhost_http::access::LocalAddress(
                "127.0.0.1:1".parse().unwrap(),
            ))
            .body(Body::from(body.to_owned()))
            .unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let again = response.headers().get("retry-after").cloned();
        (
            response.status().as_u16(),
            again.is_some_and(|seconds| seconds.to_str().unwrap().parse::<u64>().unwrap() > 0),
        )
    };
    assert_eq!(ask("GET", "/readyz", "").await, (200, false));
    setup.host.shutdown().await;
    assert_eq!(ask("GET", "/readyz", "").await, (503, true));
    assert_eq!(ask("GET", "/healthz", "").await, (200, false));
    let call = execute("echo x").to_string();
    assert_eq!(ask("PUT", "/v1/chats/a/calls/1", &call).await, (503, true));
    assert_eq!(ask("POST", "/v1/chats/a/calls", &call).await, (503, true));
}

#[tokio::test]
async fn more_callers_of_one_call_than_may_wait_are_told_to_come_back() {
    use futures_util::StreamExt;
    const MOST: usize = 256;
    const MORE: usize = 8;
    let (setup, server) = server().await;
    let go = setup.root().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = execute("cat go");
    let call = |_| {
        let request = server.request(Method::PUT, "/v1/chats/a/calls/1");
        send(request.json(&body), "retry-after")
    };
    let mut answers: futures_util::stream::FuturesUnordered<_> =
        (0..MOST + MORE).map(call).collect();
    // The others wait for events that have not happened yet.
    for _ in 0..MORE {
        let (status, again, body) = answers.next().await.unwrap();
        assert_eq!((status, again.as_deref()), (429, Some("1")), "{body}");
    }
    let opened = tokio::task::spawn_blocking(move || std::fs::write(go, "done\n").unwrap());
    while let Some((status, _, body)) = answers.next().await {
        assert_eq!(status, 200, "{body}");
    }
    opened.await.unwrap();
}
