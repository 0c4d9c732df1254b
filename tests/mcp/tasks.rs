//! The Tasks extension: calls that take long become tasks, which the ledger knows.

use super::*;
use crate::harness::is_alive;

/// Says that the client knows tasks.
fn tasks(more: Value) -> Value {
    let extensions = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let mut meta = json!({ "io.modelcontextprotocol/clientCapabilities": extensions });
    meta.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    meta
}

/// As [`WAITS`], and no SIGTERM ends it.
const STUBBORN: &str = "trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done";

const WAITS: &str = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo done";

async fn get(http: &Http, task: &str) -> Value {
    let reply = http
        .request("tasks/get", json!({ "taskId": task }), tasks(json!({})))
        .await;
    assert!(reply.get("result").is_some(), "{reply}");
    reply["result"].clone()
}

/// Asks for a task until it has another status than this.
async fn until_not(http: &Http, task: &str, status: &str) -> Value {
    let begun = std::time::Instant::now();
    loop {
        let task = get(http, task).await;
        if task["status"] != status {
            return task;
        }
        assert!(begun.elapsed() < PATIENCE, "{task}");
    }
}

#[tokio::test]
async fn a_long_call_becomes_a_task_with_a_result() {
    let http = Http::start().await;
    let short = http
        .request("tools/call", execute("echo hi"), tasks(json!({})))
        .await;
    assert_eq!(short["result"]["resultType"], "complete", "{short}");
    assert_eq!(short["result"]["structuredContent"]["output"], "hi\n");

    let named = tasks(json!({ "io.toolhost/call": "call_1", "io.toolhost/chat": "c" }));
    let reply = http.request("tools/call", execute(WAITS), named).await;
    let created = &reply["result"];
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working"))
    );
    let id = created["taskId"].as_str().unwrap();
    let working = get(&http, id).await;
    assert_eq!(working["status"], "working");
    assert_eq!(
        (&working["taskId"], &working["createdAt"]),
        (&created["taskId"], &created["createdAt"])
    );
    assert_eq!(working["ttlMs"], json!(null));
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    let ended = until_not(&http, id, "working").await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["structuredContent"]["output"], "done\n");
    assert!(ended["ttlMs"].as_u64().unwrap() > 3_600_000, "{ended}");
    // It is the call of that name, so the ledger has it as well.
    let plain = json!({ "io.toolhost/call": "call_1", "io.toolhost/chat": "c" });
    let again = http.request("tools/call", execute(WAITS), plain).await;
    assert_eq!(again["result"]["content"], ended["result"]["content"]);
}

#[tokio::test]
async fn a_task_can_be_cancelled() {
    let http = Http::start().await;
    let reply = http
        .request("tools/call", execute(STUBBORN), tasks(json!({})))
        .await;
    let id = reply["result"]["taskId"].as_str().unwrap();
    let pid = pid(http.setup.root().join("pid")).await;
    let answer = http
        .request(
            "tasks/update",
            json!({ "taskId": id, "inputResponses": {} }),
            tasks(json!({})),
        )
        .await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    let cancelled = http
        .request("tasks/cancel", json!({ "taskId": id }), tasks(json!({})))
        .await;
    assert_eq!(cancelled["result"]["resultType"], "complete", "{cancelled}");
    assert_eq!(until_not(&http, id, "working").await["status"], "cancelled");
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn only_who_knows_tasks_gets_them() {
    let http = Http::start().await;
    for method in ["tasks/get", "tasks/cancel"] {
        let unknown = json!({ "taskId": "1/c/call_9" });
        let reply = http
            .request(method, unknown.clone(), tasks(json!({})))
            .await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert_eq!(reply["error"]["data"]["code"], "unknown_task");
        let reply = http.request(method, unknown, json!({})).await;
        assert_eq!(reply["error"]["code"], -32021, "{reply}");
    }
    // And no tombstone is left where nothing was cancelled.
    let meta = json!({ "io.toolhost/call": "call_9", "io.toolhost/chat": "c" });
    let reply = http.request("tools/call", execute("true"), meta).await;
    assert_eq!(reply["result"]["isError"], false, "{reply}");
}
