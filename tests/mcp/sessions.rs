//! Sessions of streamable HTTP, in revision 2025-11-25.

use super::*;
use crate::harness::{TOKEN, until_dead};

#[tokio::test]
async fn a_session_is_a_chat_and_ends_with_it() {
    let http = Http::start().await;
    let (one, other) = (http.session().await, http.session().await);
    let command = "echo $$ > pid; exec sleep 1000";
    let background = json!({ "name": "execute", "arguments": { "command": command, "run_in_background": true } });
    let started = http.ask(&one, "tools/call", background).await;
    let chat = started["result"]["_meta"]["io.toolhost/chat"]
        .as_str()
        .unwrap();
    assert!(chat.starts_with("mcp-"), "{started}");
    let pid = pid(http.setup.root().join("pid")).await;
    let list = json!({ "name": "process_list", "arguments": {} });
    let listed = http.ask(&one, "tools/call", list.clone()).await;
    assert_eq!(
        listed["result"]["structuredContent"]["processes"]
            .as_array()
            .unwrap()
            .len(),
        1,
        "{listed}"
    );
    let listed = http.ask(&other, "tools/call", list).await;
    assert_eq!(
        listed["result"]["structuredContent"]["processes"],
        json!([]),
        "{listed}"
    );

    let delete = http.server.request(reqwest::Method::DELETE, "/mcp");
    let deleted = delete.header("mcp-session-id", &one).send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    until_dead(pid).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(http.within(&one, &ping).await.status(), 404);
    assert_eq!(
        http.ask(&other, "ping", json!({})).await["result"],
        json!({})
    );
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let http = Http::start().await;
    let mut last = String::new();
    for _ in 0..256 {
        last = http.try_session().await.1.unwrap();
    }
    let (status, _, problem) = http.try_session().await;
    assert_eq!(
        (status, &problem["code"]),
        (429, &json!("too_many_sessions"))
    );
    // What needs none is served, and so is who ends one.
    let listed = http.request("tools/list", json!({}), json!({})).await;
    assert!(listed.get("result").is_some(), "{listed}");
    let delete = http.server.request(reqwest::Method::DELETE, "/mcp");
    delete.header("mcp-session-id", &last).send().await.unwrap();
    assert_eq!(http.try_session().await.0, 200);
}

#[tokio::test]
async fn who_may_not_gets_nothing() {
    let http = Http::start().await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let path = format!("{}/mcp", http.server.url);
    let bare = |token: &str| {
        http.server
            .client
            .post(&path)
            .bearer_auth(token)
            .json(&ping)
    };
    assert_eq!(bare("wrong").send().await.unwrap().status(), 401);
    for (header, value) in [("origin", "https://evil.example"), ("host", "evil.example")] {
        let foreign = bare(TOKEN).header(header, value).send().await.unwrap();
        assert_eq!(foreign.status(), 403, "{header}");
    }
    // The session of nobody, and none at all.
    let ping = |session: &str| {
        let request = http.post(&ping).header("mcp-protocol-version", OLD);
        match session {
            "" => request,
            session => request.header("mcp-session-id", session),
        }
    };
    assert_eq!(ping("guessed").send().await.unwrap().status(), 404);
    assert_eq!(ping("").send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn a_lost_stream_is_resumed() {
    let http = Http::start().await;
    let session = http.session().await;
    let command = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo done";
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute(command) });
    let mut stream = http.within(&session, &message).await.response;
    // The first event has nothing but the place from where to go on.
    let first = stream.chunk().await.unwrap().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    let id = first.lines().find_map(|line| line.strip_prefix("id:"));
    let id = id.unwrap_or_else(|| panic!("{first}")).trim().to_owned();
    pid(http.setup.root().join("pid")).await;
    drop(stream);
    let resumed = http
        .server
        .request(reqwest::Method::GET, "/mcp")
        .header("mcp-session-id", &session)
        .header("accept", "text/event-stream")
        .header("last-event-id", id)
        .send();
    let mut resumed = Events::of(resumed.await.unwrap());
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    let reply = resumed.reply(1).await;
    assert_eq!(
        reply["result"]["structuredContent"]["output"], "done\n",
        "{reply}"
    );
}
