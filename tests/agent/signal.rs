//! `POST /{id}/signal`.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{A, Agent, B, NOBODY, ok, refused};
use crate::harness::{file, until_dead};

fn send(agent: &Agent, id: &str, signal: &str) -> RequestBuilder {
    agent.post(&format!("/{id}/signal"), &json!({ "signal": signal }))
}

async fn ended_by(agent: &Agent, id: &str, signal: &str, name: &str) -> Value {
    let body = ok(send(agent, id, signal)).await;
    let expected = format!("Signal \"{signal}\" sent to process \"{id}\".");
    assert_eq!(body, json!({ "message": expected }));
    let output = agent.wait(id).await;
    assert_eq!(
        (&output["running"], &output["exit_code"]),
        (&json!(false), &json!(-1))
    );
    assert_eq!(
        (&output["signal"], &output["cause"]),
        (&json!(name), &json!("signalled"))
    );
    output
}

#[tokio::test]
async fn kill_running() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    ended_by(&agent, &id, "kill", "SIGKILL").await;
}

#[tokio::test]
async fn terminate_running() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    ended_by(&agent, &id, "terminate", "SIGTERM").await;
}

#[tokio::test]
async fn nonexistent_process() {
    let agent = Agent::new().await;
    let text = format!("Process \"{NOBODY}\" not found.");
    refused(send(&agent, NOBODY, "kill"), 404, &text).await;
    // What is wrong with the request comes first.
    refused(send(&agent, NOBODY, "SIGFOO"), 400, "Unsupported").await;
}

#[tokio::test]
async fn already_exited_process() {
    let agent = Agent::new().await;
    let (id, _) = agent.run("true").await;
    let text = format!("Process \"{id}\" is not running.");
    refused(send(&agent, &id, "kill"), 409, &text).await;
}

#[tokio::test]
async fn empty_signal() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    refused(send(&agent, &id, ""), 400, "Signal is required.").await;
    let request = agent.request(Method::POST, &format!("/{id}/signal"));
    refused(request.body("null"), 400, "Signal is required.").await;
    let request = agent.request(Method::POST, &format!("/{id}/signal"));
    refused(request.body("{"), 400, "valid JSON").await;
}

#[tokio::test]
async fn invalid_signal() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    let text = "Unsupported signal \"SIGFOO\". Use \"kill\" or \"terminate\".";
    refused(send(&agent, &id, "SIGFOO"), 400, text).await;
    let hostile = send(&agent, &id, &"\u{1b}[31m".repeat(1000));
    let body = refused(hostile, 400, "Unsupported signal \"\\u{1b}[31m").await;
    assert!(body["message"].as_str().unwrap().len() < 500);
}

#[tokio::test]
async fn another_chats_process_is_unknown_whatever_is_sent() {
    let agent = Agent::new().await;
    let id = agent.start_for(A, "sleep 300").await;
    let text = format!("Process \"{id}\" not found.");
    for body in ["{", "", r#"{"signal":"SIGFOO"}"#, r#"{"signal":"kill"}"#] {
        let request = agent.request(Method::POST, &format!("/{id}/signal"));
        refused(request.header("Coder-Chat-Id", B).body(body), 404, &text).await;
    }
    assert_eq!(agent.output(&id).await["running"], true);
    ok(send(&agent, &id, "kill").header("Coder-Chat-Id", A)).await;
    // One that was started for no chat is everybody's.
    let id = agent.start("sleep 300").await;
    ok(send(&agent, &id, "kill").header("Coder-Chat-Id", B)).await;
}

#[tokio::test]
async fn the_other_signals_have_names_as_well() {
    let agent = Agent::new().await;
    let command = "trap 'echo one' USR1; trap 'echo hup' HUP; echo ready > ready; while :; do sleep 0.01; done";
    let id = agent.start(command).await;
    file(&agent.root().join("ready")).await;
    for (signal, answer) in [("user1", "one"), ("hangup", "hup")] {
        ok(send(&agent, &id, signal)).await;
        let path = format!("/{id}/output?wait=true&until={answer}");
        assert_eq!(ok(agent.get(&path)).await["matched"], true);
    }
    ok(send(&agent, &id, "kill")).await;
}

#[tokio::test]
async fn terminate_kills_what_stays() {
    let agent = Agent::new().await;
    let command = "trap 'echo no' TERM; echo ready > ready; while :; do sleep 0.01; done";
    let id = agent.start(command).await;
    file(&agent.root().join("ready")).await;
    let body = json!({ "signal": "terminate", "grace_ms": 1 });
    ok(agent.post(&format!("/{id}/signal"), &body)).await;
    let output = agent.wait(&id).await;
    assert_eq!(
        (&output["exit_code"], &output["signal"]),
        (&json!(-1), &json!("SIGKILL"))
    );
}

#[tokio::test]
async fn survivors_can_still_be_signalled() {
    let agent = Agent::new().await;
    let (id, output) = agent.run("sleep 300 & echo $!").await;
    let survivor = &output["survivors"][0];
    let pid = output["output"].as_str().unwrap().trim().parse().unwrap();
    assert_eq!(survivor["pid"], json!(pid));
    ok(send(&agent, &id, "kill")).await;
    until_dead(pid).await;
}

/// An ignored signal is inherited, and a shell cannot trap one that it began with as ignored.
#[test]
fn commands_begin_with_default_signals_also_under_nohup() {
    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' HUP USR1 QUIT; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "agent::signal::the_other_signals_have_names_as_well",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}
