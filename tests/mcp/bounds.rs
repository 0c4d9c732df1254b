//! Bounds of clients of MCP: no ambiguous requests, and no more than a share for each.

use super::*;
use crate::harness::TOKEN;
use crate::harness::serving::{Serving, server};

/// A call whose arguments are written like this, in raw text.
fn raw(id: u64, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

#[tokio::test]
async fn keys_that_occur_twice_are_refused_over_pipes() {
    let mut client = Pipes::initialized(&[]).await;
    let twice = r#"{"command":"echo one > ran","command":"echo two > ran"}"#;
    client
        .write((raw(70, &format!(r#"{{"name":"execute","arguments":{twice}}}"#)) + "\n").as_bytes())
        .await;
    let reply = client.reply(70).await;
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    let code = &reply["result"]["_meta"]["io.toolhost/error"];
    assert_eq!(code, "invalid_arguments", "{reply}");
    let twice = r#"{"name":"execute","arguments":{"command":"true"},"arguments":{}}"#;
    client.write((raw(71, twice) + "\n").as_bytes()).await;
    let reply = client.reply(71).await;
    assert_eq!(reply["error"]["code"], -32600, "{reply}");
    assert!(!client.workspace.path().join("ran").exists());
}

#[tokio::test]
async fn arguments_arrive_over_http_as_they_were_written() {
    let http = Http::start().await;
    let session = http.session().await;
    let post = async |body: String| {
        let request = http.server.request(reqwest::Method::POST, "/mcp");
        let response = request
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-session-id", &session)
            .header("mcp-protocol-version", OLD)
            .body(body)
            .send();
        Events::of(response.await.unwrap())
    };
    let twice = r#"{"name":"execute","arguments":{"command":"echo > ran","command":"echo > ran"}}"#;
    let reply = post(raw(1, twice)).await.reply(1).await;
    let code = &reply["result"]["_meta"]["io.toolhost/error"];
    assert_eq!(code, "invalid_arguments", "{reply}");
    let twice = r#"{"name":"execute","arguments":{},"_meta":{"a":1,"a":1}}"#;
    let mut refused = post(raw(1, twice)).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.next().await.unwrap()["error"]["code"], -32600);
    assert!(!http.setup.root().join("ran").exists());
    // What a number of 64 bits has no room for makes it no other call, over whichever surface it comes.
    let named = |number: &str| {
        let meta = r#""_meta":{"io.toolhost/call":"big","io.toolhost/chat":"c"}"#;
        raw(
            1,
            &format!(r#"{{"name":"process_list","arguments":{{"x":{number}}},{meta}}}"#),
        )
    };
    let first = post(named("36893488147419103233")).await.reply(1).await;
    let body = r#"{"tool":"process_list","arguments":{"x":36893488147419103233}}"#;
    let path = "/v1/chats/c/calls/big";
    let request = http.server.request(reqwest::Method::PUT, path);
    let put = request
        .header("content-type", "application/json")
        .body(body);
    let put = put.send().await.unwrap();
    assert_eq!(put.status(), 200, "{first}");
}

/// More would be more than there is room for; see `server::limits`.
const CALLERS: u64 = 256;

#[tokio::test]
async fn who_is_gone_still_counts_as_one_who_waits() {
    let http = Http::start().await;
    let session = http.session().await;
    let call = |id: u64| {
        let mut params = execute("echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo done");
        params["_meta"] = json!({ "io.toolhost/call": "one", "io.toolhost/chat": "c" });
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let (http, session) = (&http, &session);
        async move { http.within(session, &message).await }
    };
    for id in 1..=CALLERS {
        drop(call(id).await);
    }
    pid(http.setup.root().join("pid")).await;
    let reply = call(1000).await.reply(1000).await;
    let meta = &reply["result"]["_meta"];
    assert_eq!(meta["io.toolhost/error"], "busy", "{reply}");
    assert_eq!(meta["io.toolhost/retryAfter"], 1, "{reply}");
    std::fs::write(http.setup.root().join("go"), "").unwrap();
}

#[tokio::test]
async fn bodies_count_for_as_long_as_their_calls_run_and_these_can_be_ended() {
    let http = Http::start().await;
    let session = http.session().await;
    let filler = "#".repeat(1_000_000);
    let command = format!("echo $$ > pid; exec sleep 1000 {filler}");
    let mut status = 200;
    // 128 MiB is the share of one token.
    for id in 1..=200 {
        let mut params = execute(&command);
        params["_meta"] = json!({ "io.toolhost/call": "one", "io.toolhost/chat": "c" });
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let response = http.within(&session, &message).await;
        status = response.status();
        if status != 200 {
            break;
        }
    }
    let path = "/v1/chats/c/calls/one";
    let call = http.server.request(reqwest::Method::GET, path).send().await;
    let call = call.unwrap().text().await.unwrap();
    assert_eq!(status, 429, "{call:.2000}");
    let pid = pid(http.setup.root().join("pid")).await;
    let ended = http.server.request(reqwest::Method::DELETE, path).send();
    assert_eq!(ended.await.unwrap().status(), 200);
    crate::harness::until_dead(pid).await;
    // Under an id of its own: the others are free only when their replies are there.
    let ping = json!({ "jsonrpc": "2.0", "id": 1000, "method": "ping" });
    until_ok(&http, &session, &ping).await;
}

/// Asks until there is room for it again.
async fn until_ok(http: &Http, session: &str, message: &Value) {
    let begun = std::time::Instant::now();
    while http.within(session, message).await.status() != 200 {
        assert!(begun.elapsed() < PATIENCE, "there is no room");
    }
}

#[tokio::test]
async fn the_log_has_little_of_what_clients_send() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command.arg("serve").env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::of(command);
    let client = crate::harness::client();
    let post = async |session: &str, id: u64, method: &str, params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut request = client
            .post(format!("{}/mcp", serving.url))
            .bearer_auth(TOKEN)
            .header("accept", "application/json, text/event-stream")
            .json(&message);
        if !session.is_empty() {
            request = request.header("mcp-session-id", session);
        }
        let response = request.send().await.unwrap();
        let id = response.headers().get("mcp-session-id");
        let id = id.map(|id| id.to_str().unwrap().to_owned());
        (id, response.text().await.unwrap())
    };
    let session = post("", 0, "initialize", initialize()).await.0.unwrap();
    let long = "x".repeat(1 << 20);
    for id in 1..5 {
        let params = json!({ "name": long, "arguments": {} });
        let (_, reply) = post(&session, id, "tools/call", params).await;
        assert!(
            reply.contains("unknown_tool") && reply.len() < 2000,
            "{reply:.2000}"
        );
    }
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    let rest = serving.rest();
    let log = format!("{}{rest}", serving.stderr);
    assert!(log.len() < 100_000, "{} bytes", log.len());
}
