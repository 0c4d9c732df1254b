//! Sessions of streamable HTTP, in revision 2025-11-25.

use super::*;
use crate::harness::{until, until_dead};

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

    assert_eq!(http.end(&one).await, 204);
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
    // One token leaves half of them to others.
    for _ in 0..128 {
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
    assert_eq!(http.end(&last).await, 204);
    // Of many at once, one finds a place, and the others hear that there is none.
    let tries = (0..40).map(|_| http.try_session());
    let tries = futures_util::future::join_all(tries).await;
    let count = |wanted| {
        tries
            .iter()
            .filter(|(status, ..)| *status == wanted)
            .count()
    };
    assert_eq!((count(200), count(429)), (1, 39));
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
    let mut resumed = http.listen(&session, Some(&id)).await;
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    let reply = resumed.reply(1).await;
    assert_eq!(
        reply["result"]["structuredContent"]["output"], "done\n",
        "{reply}"
    );
}

/// Calls a tool in a session, and loses the stream as soon as it is there; returns from where to go on.
async fn lose(http: &Http, session: &str, command: &str) -> String {
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute(command) });
    let mut stream = http.within(session, &message).await.response;
    let first = stream.chunk().await.unwrap().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    let id = first.lines().find_map(|line| line.strip_prefix("id:"));
    id.unwrap_or_else(|| panic!("{first}")).trim().to_owned()
}

#[tokio::test]
async fn a_reply_that_was_ready_while_nobody_listened_is_there_for_who_comes_back() {
    let http = Http::start().await;
    let session = http.session().await;
    let command = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo done";
    let id = lose(&http, &session, command).await;
    pid(http.setup.root().join("pid")).await;
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    until("no call runs", || {
        (http.host().running_calls() == 0).then_some(())
    })
    .await;
    // As often as it is asked for.
    for _ in 0..2 {
        let mut resumed = http.listen(&session, Some(&id)).await;
        let reply = resumed.reply(1).await;
        assert_eq!(
            reply["result"]["structuredContent"]["output"], "done\n",
            "{reply}"
        );
        assert_eq!(resumed.next().await, None);
    }
    // Not by others, and not of others.
    let other = http.session().await;
    for (session, id) in [(&other, id.as_str()), (&session, "0/77"), (&session, "x")] {
        assert_eq!(http.listen(session, Some(id)).await.status(), 204, "{id}");
    }
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_is_free_again_with_the_reply() {
    let http = Http::start().await;
    let session = http.session().await;
    let command = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo done";
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute(command) });
    let mut first = http.within(&session, &message).await;
    pid(http.setup.root().join("pid")).await;
    let mut second = http.within(&session, &message).await;
    let refused = second.reply(1).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(second.next().await, None);
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    assert_eq!(first.reply(1).await["result"]["isError"], false);
    for _ in 0..3 {
        let pong = http.ask(&session, "ping", json!({})).await;
        assert_eq!(pong["result"], json!({}), "{pong}");
    }
}

#[tokio::test]
async fn who_has_heard_everything_need_not_come_back() {
    let http = Http::start().await;
    let session = http.session().await;
    // Some clients take an error for no end of their request.
    let unknown = json!({ "name": "excute", "arguments": {} });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": unknown });
    let mut stream = http.within(&session, &message).await;
    let reply = stream.reply(1).await;
    let code = &reply["result"]["_meta"]["io.toolhost/error"];
    assert_eq!(code, "unknown_tool", "{reply}");
    assert_eq!(stream.next().await, None);
    let last = stream.last.unwrap();
    let resumed = http.listen(&session, Some(&last)).await;
    assert_eq!(
        (resumed.status(), resumed.response.text().await.unwrap()),
        (204, String::new())
    );
}

#[tokio::test]
async fn a_cancelled_request_of_a_session_ends_with_its_process_and_its_streams() {
    let http = Http::start().await;
    let session = http.session().await;
    let command = "echo $$ > pid; sleep 1000 & exec sleep 1000";
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute(command) });
    let mut stream = http.within(&session, &message).await;
    let pid = pid(http.setup.root().join("pid")).await;
    // Who comes back to a stream on which nothing was said hears first where to go on.
    let first = stream.response.chunk().await.unwrap().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    let first = first
        .lines()
        .find_map(|line| line.strip_prefix("id:"))
        .unwrap()
        .trim()
        .to_owned();
    let mut resumed = http.listen(&session, Some(&first)).await;
    let params = json!({ "requestId": 1, "reason": "the user pressed a key" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(http.within(&session, &cancel).await.status(), 202);
    until_dead(pid).await;
    until("no call runs", || {
        (http.host().running_calls() == 0).then_some(())
    })
    .await;
    assert_eq!(stream.next().await, None);
    assert_eq!(resumed.next().await, None);
    assert_eq!(resumed.last.as_ref(), Some(&first));
    assert_eq!(http.listen(&session, Some(&first)).await.status(), 204);
    // Its id is free.
    let pong = http.ask(&session, "ping", json!({})).await;
    assert_eq!(pong["result"], json!({}), "{pong}");
}
