//! The ways to end a call, and events that do not end it.

use super::*;
use crate::harness::{is_alive, until, until_dead};
use futures_util::FutureExt;

#[tokio::test]
async fn a_cancelled_request_ends_guest_and_process() {
    let mut client = Pipes::initialized(&[]).await;
    let mut params = execute("echo $$ > pid; sleep 1000 & exec sleep 1000");
    params["_meta"] = json!({ "io.toolhost/call": "call_1" });
    let id = client.begin("tools/call", params).await;
    let pid = client.pid("pid").await;
    let params = json!({ "requestId": id, "reason": "the user pressed a key" });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
        .await;
    until_dead(pid).await;
    // Nothing of it is left, and its name is taken.
    let mut again = execute("echo > ran");
    again["_meta"] = json!({ "io.toolhost/call": "call_1" });
    let again = client.request("tools/call", again).await;
    assert_eq!(again["error"]["data"]["code"], "input_mismatch", "{again}");
    let rest = client.end().await;
    assert!(rest.iter().all(|message| message["id"] != id), "{rest:?}");
}

/// There is no response to a cancelled request, but its call has an end, after that of its command.
#[tokio::test]
async fn a_cancelled_request_of_a_session_is_over_when_its_command_is() {
    let http = Http::start().await;
    let session = http.session().await;
    let mut params =
        execute("trap 'echo bye; exit 0' TERM; echo $$ > pid; while :; do sleep 0.01; done");
    params["_meta"] = json!({ "io.toolhost/call": "call_1", "io.toolhost/chat": "c" });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let _stream = http.within(&session, &message).await;
    let pid = pid(http.setup.root().join("pid")).await;
    let params = json!({ "requestId": 1, "reason": "the user pressed a key" });
    let message =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(http.within(&session, &message).await.status(), 202);
    let (chat, id) = ("c".parse().unwrap(), "call_1".parse().unwrap());
    let outcome = until("the call has ended", || {
        match http
            .host()
            .status(&chat, &id)
            .now_or_never()
            .and_then(|status| status.unwrap())
        {
            Some(toolhost_call::call::CallStatus::Ended(outcome)) => Some(outcome),
            _ => None,
        }
    })
    .await;
    assert!(!is_alive(pid));
    assert!(outcome.cancelled);
    let reply = outcome.result.as_ref().unwrap();
    let reply: Value = serde_json::from_str(reply.structured().unwrap().get()).unwrap();
    assert_eq!(
        (&reply["running"], &reply["cancelled"]),
        (&json!(false), &json!(true))
    );
    // The shell may tell before that its child was terminated.
    let output = reply["output"].as_str().unwrap();
    assert!(output.ends_with("bye\n"), "{output}");
}

#[tokio::test]
async fn a_lost_connection_ends_a_call_without_a_name() {
    let http = Http::start().await;
    let call = http.send(
        "tools/call",
        execute("echo $$ > pid; exec sleep 1000"),
        json!({}),
    );
    let pid = tokio::select! {
        _ = call => panic!("it has no end"),
        pid = pid(http.setup.root().join("pid")) => pid,
    };
    until_dead(pid).await;
}

#[tokio::test]
async fn a_stream_that_is_closed_ends_a_call_without_a_name() {
    let http = Http::start().await;
    let command = execute("echo $$ > pid; exec sleep 1000");
    // Its headers are there, although the call has no end: this is how clients of the revision cancel.
    let begun = http.send("tools/call", command, json!({})).await;
    assert_eq!(begun.status(), 200);
    let pid = pid(http.setup.root().join("pid")).await;
    drop(begun);
    until_dead(pid).await;
}

/// Waits until the server has no connection but the one over which it is asked.
async fn only_one_is_connected(http: &Http) {
    let begun = std::time::Instant::now();
    loop {
        let asked = http.server.request(reqwest::Method::GET, "/metrics").send();
        let metrics = asked.await.unwrap().text().await.unwrap();
        if metrics.contains("\ntoolhost_connections 1\n") {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{metrics}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_lost_connection_detaches_from_a_call_with_a_name() {
    let http = Http::start().await;
    let command =
        "echo $$ > pid; echo x >> counter; until [ -e go ]; do sleep 0.01; done; cat counter";
    let named = json!({ "io.toolhost/call": "call_1", "io.toolhost/chat": "c" });
    let call = http.send("tools/call", execute(command), named.clone());
    tokio::select! {
        _ = call => panic!("it has no end yet"),
        _ = pid(http.setup.root().join("pid")) => {}
    }
    // One without a name, lost after that, ends: so the server has noticed both.
    let unnamed = http.send(
        "tools/call",
        execute("echo $$ > other; exec sleep 1000"),
        json!({}),
    );
    let other = tokio::select! {
        _ = unnamed => panic!("it has no end"),
        pid = pid(http.setup.root().join("other")) => pid,
    };
    until_dead(other).await;
    only_one_is_connected(&http).await;
    let (chat, id) = ("c".parse().unwrap(), "call_1".parse().unwrap());
    let standing = http.host().status(&chat, &id).await.unwrap();
    assert!(
        matches!(standing, Some(toolhost_call::call::CallStatus::Live { .. })),
        "{standing:?}"
    );
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    let reply = http.request("tools/call", execute(command), named).await;
    assert_eq!(
        reply["result"]["structuredContent"]["output"], "x\n",
        "{reply}"
    );
    assert_eq!(reply["result"]["_meta"]["io.toolhost/state"], "finished");
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_calls_without_a_name() {
    let http = Http::start().await;
    let session = http.session().await;
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute("echo $$ > pid; exec sleep 1000") });
    let stream = http.within(&session, &message).await;
    let pid = pid(http.setup.root().join("pid")).await;
    // A stream that is lost can be resumed within a session, so that ends nothing.
    drop(stream);
    assert!(crate::harness::is_alive(pid));
    let ended = http
        .server
        .request(reqwest::Method::DELETE, "/mcp")
        .header("mcp-session-id", &session)
        .send();
    assert!(ended.await.unwrap().status().is_success());
    until_dead(pid).await;
    until("no call runs", || {
        (http.host().running_calls() == 0).then_some(())
    })
    .await;
}
