//! Traces: from what a message or its request of HTTP says into the commands of the call.

use super::*;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-11111111111111111111111111111111-b7ad6b7169203331-01";

/// A call that prints what its command sees of the trace, with this in its `_meta`.
fn print(meta: Value) -> Value {
    let mut params = execute("printf '[%s][%s]' \"$TRACEPARENT\" \"$TRACESTATE\"");
    params["_meta"] = meta;
    params
}

fn printed(reply: &Value) -> String {
    let output = reply["result"]["structuredContent"]["output"].as_str();
    output.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

// Where spans are exported, it is the span of the call that is handed on, within the same trace.
#[tokio::test]
async fn a_trace_reaches_the_command() {
    let http = Http::start().await;
    let session = http.session().await;
    let seen = async |headers: &[(&str, &str)], meta: Value| {
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": print(meta) });
        let mut request = http
            .post(&message)
            .header("mcp-session-id", &session)
            .header("mcp-protocol-version", OLD);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        printed(&Events::of(request.send().await.unwrap()).reply(1).await)
    };
    let header = [("traceparent", OTHER), ("tracestate", "other=2")];
    assert_eq!(seen(&[], json!({})).await, "[][]");
    assert_eq!(
        seen(&header, json!({})).await,
        format!("[{OTHER}][other=2]")
    );
    // What the message says goes first, unless it says nothing that is a trace.
    let said = json!({ "traceparent": PARENT, "tracestate": "vendor=1" });
    let whole = format!("[{PARENT}][vendor=1]");
    assert_eq!(seen(&[], said.clone()).await, whole);
    assert_eq!(seen(&header, said.clone()).await, whole);
    let broken = json!({ "traceparent": "$(touch x)", "tracestate": "vendor=1" });
    assert_eq!(seen(&[], broken.clone()).await, "[][]");
    assert_eq!(seen(&header, broken).await, format!("[{OTHER}][other=2]"));

    // Without a session, and over pipes.
    let reply = http
        .request("tools/call", print(json!({})), said.clone())
        .await;
    assert_eq!(printed(&reply), whole);
    let mut client = Pipes::initialized(&[]).await;
    let reply = client.request("tools/call", print(said)).await;
    assert_eq!(printed(&reply), whole);
}
