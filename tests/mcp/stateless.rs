//! Streamable HTTP without sessions, in revision 2026-07-28.

use super::*;

#[tokio::test]
async fn each_request_says_all_that_there_is_to_know() {
    let http = Http::start().await;
    let discovered = http.request("server/discover", json!({}), json!({})).await;
    let capabilities = &discovered["result"]["capabilities"];
    assert!(
        capabilities["extensions"]
            .get("io.modelcontextprotocol/tasks")
            .is_some(),
        "{discovered}"
    );
    let first = http
        .request("tools/call", execute("echo hi"), json!({}))
        .await;
    assert_eq!(first["result"]["structuredContent"]["output"], "hi\n");
    // A chat of its own, unless one is named.
    let chat = first["result"]["_meta"]["io.toolhost/chat"].as_str();
    assert!(chat.unwrap().starts_with("mcp-"), "{first}");
    let named = json!({ "io.toolhost/chat": "support-42" });
    let second = http.request("tools/call", execute("echo hi"), named).await;
    assert_eq!(second["result"]["_meta"]["io.toolhost/chat"], "support-42");
    let unknown = http.send("tools/nonsense", json!({}), json!({})).await;
    assert_eq!(unknown.status(), 404);
    let ping = http.send("ping", json!({}), json!({})).await;
    assert_eq!(ping.status(), 404, "this revision has none");
}

#[tokio::test]
async fn what_is_no_message_gets_an_error() {
    let http = Http::start().await;
    for (body, code) in [
        ("{\"jsonrpc\":", -32700),
        ("\u{0}", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
    ] {
        let request = http.server.request(reqwest::Method::POST, "/mcp");
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        let response = request.body(body).send().await.unwrap();
        assert_eq!(response.status(), 400, "{body}");
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["code"], code, "{error}");
    }
    let huge = "x".repeat(2 << 20);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": huge });
    assert_eq!(http.post(&message).send().await.unwrap().status(), 413);
}

#[tokio::test]
async fn a_hundred_clients_are_served_at_once() {
    let http = Http::start().await;
    let calls = (0..100).map(|number| {
        let meta =
            json!({ "io.toolhost/call": "call_1", "io.toolhost/chat": format!("c{}", number % 2) });
        http.request("tools/call", execute("echo x >> counter; echo hi"), meta)
    });
    for reply in futures_util::future::join_all(calls).await {
        assert_eq!(
            reply["result"]["structuredContent"]["output"], "hi\n",
            "{reply}"
        );
    }
    let counted = std::fs::read_to_string(http.setup.root().join("counter")).unwrap();
    assert_eq!(counted, "x\nx\n", "once in each chat");
}

#[tokio::test]
async fn a_reply_begins_before_a_long_call_ends() {
    let http = Http::start().await;
    let command = "until [ -e go ]; do sleep 0.01; done; echo done";
    // Its headers are there, although it asked for no progress.
    let mut begun = http.send("tools/call", execute(command), json!({})).await;
    assert_eq!(begun.status(), 200);
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    let reply = begun.reply(1).await;
    assert_eq!(
        reply["result"]["structuredContent"]["output"], "done\n",
        "{reply}"
    );
    assert_eq!(begun.next().await, None);
}

/// As a model sends them in one turn.
#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_file_in_one_turn_are_all_made() {
    const EDITS: usize = 12;
    let http = Http::start().await;
    let lines =
        |word: &str| -> String { (0..EDITS).map(|line| format!("{word} {line};\n")).collect() };
    let path = http.setup.root().join("file");
    std::fs::write(&path, lines("old")).unwrap();
    let edits = (0..EDITS).map(async |line| {
        let edits =
            json!([{ "old_text": format!("old {line};"), "new_text": format!("new {line};") }]);
        let arguments = json!({ "files": [{ "path": "file", "edits": edits }] });
        let call = json!({ "name": "edit_files", "arguments": arguments });
        let reply = http.request("tools/call", call, json!({})).await;
        assert_ne!(reply["result"]["isError"], true, "{reply}");
        assert_eq!(reply["result"]["structuredContent"]["ok"], true, "{reply}");
    });
    futures_util::future::join_all(edits).await;
    assert_eq!(std::fs::read_to_string(path).unwrap(), lines("new"));
}
