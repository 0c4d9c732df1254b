//! `GET /{id}/output`: what is shown, and waiting.

use std::time::Duration;

use serde_json::{Value, json};

use super::{A, Agent, B, NOBODY, ok, refused, tell};
use crate::harness::{UNTIL_IT_SLEEPS, file};

#[tokio::test]
async fn exited_process() {
    let agent = Agent::new().await;
    let (id, _) = agent.run("echo hello").await;
    let mut output = agent.output(&id).await;
    let duration = output.as_object_mut().unwrap().remove("duration_ms");
    assert!(duration.unwrap().is_u64());
    let expected = json!({
        "output": "hello\n", "running": false, "exit_code": 0, "status": "exited", "lingering": false, "cause": "itself",
        "timed_out": false, "canceled": false, "command": "echo hello", "total_bytes": 6, "cursor": 6, "saved": { "status": "complete" },
    });
    assert_eq!(output, expected);
}

#[tokio::test]
async fn running_process() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    let output = agent.output(&id).await;
    assert_eq!(
        (&output["running"], output.get("exit_code")),
        (&json!(true), None)
    );
    assert_eq!(output["status"], "running");
}

#[tokio::test]
async fn nonexistent_process() {
    let agent = Agent::new().await;
    let text = format!("Process \"{NOBODY}\" not found.");
    for rest in ["output", "output?wait=true", "output?since=x", "events"] {
        refused(agent.get(&format!("/{NOBODY}/{rest}")), 404, &text).await;
    }
}

#[tokio::test]
async fn chat_id_enforcement() {
    let agent = Agent::new().await;
    let id = agent.start_for(A, "true").await;
    let path = format!("/{id}/output");
    let text = format!("Process \"{id}\" not found.");
    refused(agent.get(&path).header("Coder-Chat-Id", B), 404, &text).await;
    let path_of_events = format!("/{id}/events");
    refused(
        agent.get(&path_of_events).header("Coder-Chat-Id", B),
        404,
        &text,
    )
    .await;
    for chat in [A, "", "not-a-uuid"] {
        ok(agent.get(&path).header("Coder-Chat-Id", chat)).await;
    }
    ok(agent.get(&path)).await;
    // To be its ancestor gives no access.
    let request = agent.get(&path).header("Coder-Chat-Id", B);
    let ancestors = format!("[\"{A}\"]");
    refused(
        request.header("Coder-Ancestor-Chat-Ids", ancestors),
        404,
        &text,
    )
    .await;
    // One that was started for no chat is everybody's.
    let (id, _) = agent.run("true").await;
    ok(agent
        .get(&format!("/{id}/output"))
        .header("Coder-Chat-Id", B))
    .await;
}

#[tokio::test]
async fn wait_for_exit() {
    let agent = Agent::new().await;
    let (_, output) = agent.run("echo hello-wait && sleep 0.1").await;
    assert_eq!(
        (&output["running"], &output["exit_code"]),
        (&json!(false), &json!(0))
    );
    assert_eq!(output["output"], "hello-wait\n");
}

#[tokio::test]
async fn wait_already_exited() {
    let agent = Agent::new().await;
    let (id, first) = agent.run("echo hello").await;
    assert_eq!(agent.wait(&id).await, first);
}

#[tokio::test]
async fn wait_timeout() {
    let agent = Agent::new().await;
    let id = agent.start("echo hello; sleep 300").await;
    // The client leaves, and nothing comes of that; the server's own timeout answers.
    let request = agent.get(&format!("/{id}/output?wait=true"));
    let left = request.timeout(Duration::from_millis(50)).send().await;
    assert!(left.unwrap_err().is_timeout());
    let output = ok(agent.get(&format!("/{id}/output?wait=true&timeout_ms=1"))).await;
    assert_eq!(output["running"], true);
    // Any other text does not mean to wait.
    for wait in ["wait=1", "wait=TRUE", "wait", "wait=false", "other=true"] {
        let output = ok(agent.get(&format!("/{id}/output?{wait}"))).await;
        assert_eq!(output["running"], true);
    }
}

#[tokio::test]
async fn concurrent_waiters() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    let kill = agent.post(&format!("/{id}/signal"), &json!({ "signal": "kill" }));
    let (one, two, _) = tokio::join!(agent.wait(&id), agent.wait(&id), ok(kill));
    assert_eq!(
        (&one["running"], &two["running"]),
        (&json!(false), &json!(false))
    );
}

#[tokio::test]
async fn a_wait_ends_with_a_match() {
    let agent = Agent::new().await;
    let go = agent.fifo("go");
    let id = agent.start("echo starting; cat go; sleep 300").await;
    // `ready \d+`
    let path = format!("/{id}/output?wait=true&until=ready%20%5Cd%2B");
    let (output, ()) = tokio::join!(ok(agent.get(&path)), tell(go, "ready 80\n"));
    assert_eq!(output["output"], "starting\nready 80\n");
    assert_eq!(
        (&output["matched"], &output["match_end"]),
        (&json!(true), &json!(17))
    );
    assert_eq!(output["running"], true);
    // The search begins at the cursor.
    let path = format!("/{id}/output?wait=true&timeout_ms=1&until=starting&since=3");
    assert_eq!(ok(agent.get(&path)).await["matched"], false);
    let (id, _) = agent.run("echo starting").await;
    let path = format!("/{id}/output?wait=true&until=never");
    let output = ok(agent.get(&path)).await;
    assert_eq!(
        (&output["matched"], output.get("match_end")),
        (&json!(false), None)
    );
}

#[tokio::test]
async fn bad_parameters_are_named() {
    let agent = Agent::new().await;
    let (id, _) = agent.run("true").await;
    for (query, field) in [
        ("wait=true&until=(", "until"),
        ("wait=true&until=%5Cw%7B1000000%7D", "until"),
        ("since=-1", "since"),
        ("since=99999999999999999999", "since"),
        ("since=0&max_bytes=1k", "max_bytes"),
        ("wait=true&timeout_ms=1.5", "timeout_ms"),
    ] {
        let request = agent.get(&format!("/{id}/output?{query}"));
        let body = refused(request, 400, "Query parameters have invalid values.").await;
        assert_eq!(body["validations"][0]["field"], field, "{query}");
    }
}

#[tokio::test]
async fn a_command_has_finished_when_its_shell_has() {
    let agent = Agent::new().await;
    let command = format!("sleep 300 & {UNTIL_IT_SLEEPS}; echo hi; exit 3");
    let (id, output) = agent.run(&command).await;
    for (field, value) in [
        ("output", json!("hi\n")),
        ("running", json!(false)),
        ("exit_code", json!(3)),
        ("lingering", json!(true)),
        ("status", json!("lingering")),
    ] {
        assert_eq!(output[field], value, "{field}");
    }
    assert_eq!(output["survivors"][0]["command"], "sleep 300");
    ok(agent.post(&format!("/{id}/signal"), &json!({ "signal": "kill" }))).await;
    // Its end does not change how it ended.
    let path = format!("/{id}/output");
    let ended = async || {
        let output = ok(agent.get(&path)).await;
        (output["status"] == "exited").then_some(output)
    };
    let output = loop {
        if let Some(output) = ended().await {
            break output;
        }
    };
    assert_eq!(
        (&output["exit_code"], output.get("survivors")),
        (&json!(3), None)
    );
}

#[tokio::test]
async fn output_that_is_freed_comes_from_what_was_saved() {
    let agent = Agent::with(|mut config| {
        config.limits.memory = Duration::ZERO;
        config
    })
    .await;
    let (id, before) = agent.run("seq 1000").await;
    agent.registry.tidy_up().await;
    assert_eq!(agent.output(&id).await, before);
}

#[tokio::test]
async fn what_has_expired_is_gone_with_its_status() {
    let agent = Agent::with(|mut config| {
        config.limits.ended_per_chat = 1;
        config
    })
    .await;
    let (old, _) = agent.run("echo old; exit 7").await;
    let (new, _) = agent.run("echo new").await;
    agent.registry.tidy_up().await;
    let text = format!("The output of process \"{old}\" is no longer kept.");
    for rest in ["output", "output?wait=true", "output?since=0", "events"] {
        let body = refused(agent.get(&format!("/{old}/{rest}")), 410, &text).await;
        assert_eq!(
            (&body["status"], &body["exit_code"]),
            (&json!("exited"), &json!(7))
        );
        assert_eq!(
            (&body["running"], &body["cause"]),
            (&json!(false), &json!("itself"))
        );
    }
    assert_eq!(agent.output(&new).await["output"], "new\n");
    let signal = agent.post(&format!("/{old}/signal"), &json!({ "signal": "kill" }));
    refused(signal, 409, "is not running").await;
}

#[tokio::test]
async fn waiting_needs_no_output() {
    let agent = Agent::new().await;
    let id = agent.start("echo ready > ready; exec sleep 300").await;
    file(&agent.root().join("ready")).await;
    let output: Value = ok(agent.get(&format!("/{id}/output?wait=true&timeout_ms=0"))).await;
    assert_eq!(
        (&output["output"], &output["running"]),
        (&json!(""), &json!(true))
    );
}
