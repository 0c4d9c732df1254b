//! Traces: from the caller's header through the call and into its commands.

use serde_json::{Value, json};

use super::{Logged, TRACE, TRACEPARENT, execute};
use crate::harness::{Server, Setup};

const PRINT: &str = "echo \"[$TRACEPARENT][$TRACESTATE]\"";

/// What a command sees of the trace that these headers name.
async fn seen(server: &Server, call: &str, headers: &[(&str, &str)], attributes: Value) -> String {
    let path = format!("/v1/chats/chat/calls/{call}");
    let mut body = execute(PRINT);
    body["attributes"] = attributes;
    let mut request = server.request(reqwest::Method::PUT, &path).json(&body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply: Value = request.send().await.unwrap().json().await.unwrap();
    let output = reply["structured"]["output"].as_str();
    output
        .unwrap_or_else(|| panic!("{reply}"))
        .trim()
        .to_owned()
}

// Where spans are exported, it is the span that is handed on; see `otel`.
#[tokio::test]
async fn it_reaches_the_command() {
    let setup = Setup::new().await;
    let server = Server::start(setup.host.clone()).await;
    let state = ("tracestate", "vendor=1");
    let both = [("traceparent", TRACEPARENT), state];
    let whole = format!("[{TRACEPARENT}][vendor=1]");
    assert_eq!(seen(&server, "1", &both, json!({})).await, whole);
    // By the attributes as well, over which the header goes.
    let attributes = json!({ "traceparent": TRACEPARENT });
    let only = format!("[{TRACEPARENT}][]");
    assert_eq!(seen(&server, "2", &[], attributes).await, only);
    let other = TRACEPARENT.replace("0af", "111");
    let attributes = json!({ "traceparent": other, "tracestate": "other=2" });
    assert_eq!(seen(&server, "3", &both, attributes).await, whole);
    server.stop().await;
}

#[tokio::test]
async fn what_is_malformed_does_not() {
    let setup = Setup::new().await;
    let server = Server::start(setup.host.clone()).await;
    let upper = TRACEPARENT.to_uppercase();
    let future = TRACEPARENT.replacen("00-", "01-", 1);
    let longer = format!("{TRACEPARENT}-x");
    let zero = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
    let broken = ["", "x", "$(touch x)", &upper, &future, &longer, &zero];
    for (index, parent) in broken.into_iter().enumerate() {
        let headers = [("traceparent", parent), ("tracestate", "a=1")];
        let by_header = seen(&server, &format!("h{index}"), &headers, json!({})).await;
        assert_eq!(by_header, "[][]", "{parent}");
        let attributes = json!({ "traceparent": parent, "tracestate": "a=1" });
        let by_attribute = seen(&server, &format!("a{index}"), &[], attributes).await;
        assert_eq!(by_attribute, "[][]", "{parent}");
    }
    // A state that is none goes alone.
    let headers = [("traceparent", TRACEPARENT), ("tracestate", "$(id)")];
    let only = format!("[{TRACEPARENT}][]");
    assert_eq!(seen(&server, "state", &headers, json!({})).await, only);
    server.stop().await;
}

#[tokio::test]
async fn the_audit_trail_names_it() {
    let audit = tempfile::tempdir().unwrap();
    let directory = audit.path().join("audit");
    let program = Logged::start(|command| {
        command.arg("--audit-dir").arg(&directory);
    });
    let headers = [("traceparent", TRACEPARENT)];
    assert_eq!(
        program
            .put("call-1", &headers, &execute("true"))
            .await
            .status(),
        200
    );
    assert_eq!(
        program.put("call-2", &[], &execute("true")).await.status(),
        200
    );
    program.stop();
    let trail = std::fs::read_to_string(directory.join("audit.jsonl")).unwrap();
    let lines = trail
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let started: Vec<_> = lines
        .filter(|line| line["event"] == "call_started")
        .collect();
    assert_eq!(started[0]["trace"], TRACE);
    assert_eq!(started[1].get("trace"), None);
}
