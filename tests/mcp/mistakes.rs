//! What clients and models get wrong, and can go on from.

use super::*;

/// A client waits for a reply to the id that it sent, wherever that is in the message.
#[tokio::test]
async fn a_message_that_is_too_long_gets_an_error_of_its_id() {
    let mut client = Pipes::initialized(&[]).await;
    let content = "x".repeat(1_200_000);
    let params = json!({ "name": "write_file", "arguments": { "path": "a", "content": content } });
    let first = json!({ "id": 71, "jsonrpc": "2.0", "method": "tools/call", "params": params });
    let last = json!({ "method": "tools/call", "params": params, "jsonrpc": "2.0", "id": "late" });
    for (message, id) in [(first, json!(71)), (last, json!("late"))] {
        client.send(&message).await;
        let error = client.next(|message| message.get("error").is_some()).await;
        assert_eq!(error["id"], id, "{error}");
        let text = error["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("the message has 1200"), "{text}");
    }
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    client.end().await;
}

/// An id is free as soon as its reply is there.
#[tokio::test]
async fn an_id_can_be_used_for_one_call_after_the_other() {
    let mut client = Pipes::initialized(&[]).await;
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "process_list", "arguments": {}
    } });
    for _ in 0..200 {
        client.send(&message).await;
        let reply = client.next(|message| message["id"] == 2).await;
        assert_eq!(reply["result"]["isError"], false, "{reply}");
    }
    client.end().await;
}

/// Some providers send the arguments as a text, and clients pass them on. Whatever else they are, the model reads it.
#[tokio::test]
async fn arguments_that_are_no_object_are_read_or_explained() {
    let call = |arguments: Value| json!({ "name": "execute", "arguments": arguments });
    let mut client = Pipes::initialized(&[]).await;
    let http = Http::start().await;
    let session = http.session().await;
    for (arguments, text) in [
        (json!(r#"{"command": "echo hi"}"#), "\"output\":\"hi\\n\""),
        (json!([]), "must be a JSON object, not an array"),
        (json!("ls"), "must be a JSON object, not a string"),
        (json!(r#"{"command": "#), "not valid JSON"),
        (json!(7), "must be a JSON object, not a number"),
        (json!({ "command": 7 }), "command"),
    ] {
        let is_error = text != "\"output\":\"hi\\n\"";
        let piped = client.call(call(arguments.clone())).await;
        let posted = http
            .ask(&session, "tools/call", call(arguments.clone()))
            .await;
        for result in [&piped, &posted["result"]] {
            assert_eq!(result["isError"], is_error, "{arguments}: {result}");
            let shown = result["content"][0]["text"].as_str().unwrap();
            assert!(shown.contains(text), "{arguments}: {result}");
        }
    }
    client.end().await;
}

/// What no value of JSON can hold, the model reads as well.
#[tokio::test]
async fn arguments_that_are_no_text_are_explained() {
    let mut client = Pipes::initialized(&[]).await;
    let http = Http::start().await;
    let session = http.session().await;
    for (arguments, text) in [
        (r#"{"command":"echo \ud83d"}"#, "half of a surrogate pair"),
        (
            r#"{"command":"true","timeout":1e999}"#,
            "number out of range",
        ),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"execute","arguments":{arguments}}}}}"#
        );
        client.write(format!("{message}\n").as_bytes()).await;
        let piped = client.next(|message| message["id"] == 77).await;
        let known = http.post(&json!({ "method": "tools/call" }));
        let posted = known.header("mcp-session-id", &session).body(message);
        let posted = posted.send().await.unwrap().text().await.unwrap();
        let posted = posted.lines().find_map(|line| line.strip_prefix("data: {"));
        let posted: Value = serde_json::from_str(&format!("{{{}", posted.unwrap())).unwrap();
        for reply in [&piped, &posted] {
            let result = &reply["result"];
            assert_eq!(result["isError"], true, "{arguments}: {reply}");
            let shown = result["content"][0]["text"].as_str().unwrap();
            assert!(shown.contains(text), "{arguments}: {reply}");
        }
    }
    client.end().await;
}

/// Ids come back as they were sent, and errors name the member that is wrong.
#[tokio::test]
async fn errors_name_the_member_and_the_id() {
    let mut client = Pipes::initialized(&[]).await;
    let http = Http::start().await;
    for (message, id, text) in [
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            json!(1.5),
            "\"id\" must be",
        ),
        (
            r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
            json!(9_223_372_036_854_775_808_u64),
            "\"id\" must be",
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":7}"#,
            json!(4),
            "\"method\" must be a text",
        ),
        (
            r#"{"id":5,"method":"ping"}"#,
            json!(5),
            "\"jsonrpc\" must be \"2.0\"",
        ),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"ping","params":[]}"#,
            json!(6),
            "\"params\" must be",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#,
            json!(8),
            "occurs twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
            json!(9),
            "\"params.protocolVersion\" must be a text",
        ),
    ] {
        client.write(format!("{message}\n").as_bytes()).await;
        let error = client.next(|message| message.get("error").is_some()).await;
        let sent: Value = serde_json::from_str(message).unwrap();
        let response = http.post(&sent).body(message).send().await.unwrap();
        let posted: Value = response.json().await.unwrap();
        for error in [&error, &posted] {
            assert_eq!(error["id"], id, "{message}: {error}");
            let said = error["error"]["message"].as_str().unwrap();
            assert!(said.contains(text), "{message}: {error}");
        }
    }
    client.end().await;
}

/// A client whose session has ended begins another one, and may still name the old one.
#[tokio::test]
async fn a_handshake_begins_a_session_whatever_session_it_names() {
    let http = Http::start().await;
    let ended = http.session().await;
    let delete = http.with_method(reqwest::Method::DELETE);
    let deleted = delete
        .header("mcp-session-id", &ended)
        .send()
        .await
        .unwrap();
    assert_eq!(deleted.status(), 204);
    for named in [ended.as_str(), "", "never-there"] {
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize() });
        let request = http.post(&message).header("mcp-session-id", named);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{named}");
        let id = response.headers().get("mcp-session-id").unwrap();
        assert_ne!(id.to_str().unwrap(), named);
    }
}
