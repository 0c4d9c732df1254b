//! From start to end.

use serde_json::json;

use super::{Agent, ok};

#[tokio::test]
async fn start_wait_check_output() {
    let agent = Agent::new().await;
    let (_, output) = agent.run("echo line1 && echo line2").await;
    assert_eq!(output["output"], "line1\nline2\n");
}

#[tokio::test]
async fn non_zero_exit_code() {
    let agent = Agent::new().await;
    let (_, output) = agent.run("exit 42").await;
    assert_eq!(output["exit_code"], 42);
}

#[tokio::test]
async fn start_signal_verify_exit() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    ok(agent.post(&format!("/{id}/signal"), &json!({ "signal": "kill" }))).await;
    assert!(agent.wait(&id).await["exit_code"].is_i64());
}

#[tokio::test]
async fn output_exceeds_buffer() {
    let agent = Agent::new().await;
    let line = "x".repeat(55);
    let command = format!("for i in $(seq 1155); do echo \"$i {line}\"; done; echo last");
    let (_, output) = agent.run(&command).await;
    let text = output["output"].as_str().unwrap();
    let truncated = &output["truncated"];
    let number = |field: &str| truncated[field].as_u64().unwrap();
    assert_eq!(truncated["strategy"], "head_tail");
    assert!(number("omitted_bytes") > 0);
    assert!(number("original_bytes") > number("retained_bytes"));
    assert!(text.contains("... [omitted "));
    // Both ends and the marker fit the reference's cap together, so that nobody cuts the end off.
    assert!(text.len() <= 32 << 10 && text.ends_with("\nlast\n"));
    assert_eq!(number("retained_bytes"), text.len() as u64);
    assert_eq!(output["total_bytes"], truncated["original_bytes"]);
}

#[tokio::test]
async fn stderr_captured() {
    let agent = Agent::new().await;
    let (_, output) = agent.run("echo to-out; echo to-err >&2").await;
    assert_eq!(output["output"], "to-out\nto-err\n");
}
