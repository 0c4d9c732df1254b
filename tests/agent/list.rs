//! `GET /list`.

use serde_json::{Value, json};

use super::{A, Agent, B, ok, processes, refused};
use crate::harness::logged;

#[tokio::test]
async fn access_log_includes_chat_id() {
    let agent = Agent::new().await;
    let chat = uuid();
    let log = logged(async {
        processes(agent.get("/list").header("Coder-Chat-Id", &chat)).await;
    })
    .await;
    let field = format!("chat_id={chat}");
    assert_eq!(
        log.lines().filter(|line| line.contains(&field)).count(),
        1,
        "{log}"
    );
}

/// A chat that no other test names.
fn uuid() -> String {
    "99999999-2222-4333-8444-999999999999".into()
}

#[tokio::test]
async fn no_processes() {
    let agent = Agent::new().await;
    assert_eq!(
        ok(agent.get("/list")).await,
        json!({ "processes": [], "total": 0 })
    );
}

async fn listed(agent: &Agent, chat: &str) -> usize {
    processes(agent.get("/list").header("Coder-Chat-Id", chat))
        .await
        .len()
}

#[tokio::test]
async fn filter_by_chat_id() {
    let agent = Agent::new().await;
    for chat in [A, A, B] {
        agent.start_for(chat, "true").await;
    }
    assert_eq!((listed(&agent, A).await, listed(&agent, B).await), (2, 1));
    assert_eq!(agent.list().await.len(), 3);
}

#[tokio::test]
async fn chat_id_filtering() {
    let agent = Agent::new().await;
    agent.start_for(A, "true").await;
    agent.start("true").await;
    assert_eq!((listed(&agent, A).await, listed(&agent, B).await), (1, 0));
    assert_eq!(agent.list().await.len(), 2);
    // A header that names no chat is none.
    assert_eq!(listed(&agent, "not-a-uuid").await, 2);
    assert_eq!(listed(&agent, "").await, 2);
}

#[tokio::test]
async fn sort_and_limit() {
    let agent = Agent::new().await;
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(agent.run("true").await.0);
    }
    ids.reverse();
    let body = ok(agent.get("/list")).await;
    let shown = body["processes"].as_array().unwrap();
    let id = |process: &Value| process["id"].as_str().unwrap().to_owned();
    assert_eq!(shown.iter().map(id).collect::<Vec<_>>(), ids[..10]);
    assert_eq!(body["total"], 12);
    let started = |process: &Value| process["started_at_unix"].as_u64().unwrap();
    assert!(shown.is_sorted_by(|one, next| started(one) >= started(next)));
    assert_eq!(processes(agent.get("/list?limit=12")).await.len(), 12);
    assert_eq!(processes(agent.get("/list?limit=2")).await.len(), 2);
    assert_eq!(processes(agent.get("/list?limit=0")).await.len(), 0);
    assert_eq!(
        processes(agent.get("/list?limit=99999999999")).await.len(),
        12
    );
    for query in ["limit=x", "limit=-1", "running=1"] {
        let request = agent.get(&format!("/list?{query}"));
        refused(request, 400, "Query parameters have invalid values.").await;
    }
}

#[tokio::test]
async fn running_processes_sorted_first() {
    let agent = Agent::new().await;
    let running = agent.start("sleep 300").await;
    agent.run("true").await;
    let list = agent.list().await;
    assert_eq!(list[0]["id"], running);
    assert_eq!(
        (&list[0]["running"], &list[1]["running"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test]
async fn mixed_running_and_exited() {
    let agent = Agent::new().await;
    let (exited, _) = agent.run("echo hi").await;
    let running = agent.start("sleep 300").await;
    let list = agent.list().await;
    assert_eq!(
        (&list[0]["id"], &list[1]["id"]),
        (&json!(running), &json!(exited))
    );
    assert_eq!(list[0].get("exit_code"), None);
    assert_eq!(list[0].get("exited_at_unix"), None);
    assert_eq!(list[1]["exit_code"], 0);
    assert!(list[1]["exited_at_unix"].is_u64());
    let exited = &list[1];
    for (field, value) in [
        ("command", json!("echo hi")),
        ("background", json!(false)),
        ("running", json!(false)),
        ("status", json!("exited")),
        ("lingering", json!(false)),
        ("cause", json!("itself")),
        ("total_bytes", json!(3)),
    ] {
        assert_eq!(exited[field], value, "{field}");
    }
}

#[tokio::test]
async fn what_lives_can_be_asked_for() {
    let agent = Agent::new().await;
    agent.run("true").await;
    let (lingering, _) = agent.run("sleep 300 & true").await;
    let running = agent.start("sleep 300").await;
    agent.run("true").await;
    let body = ok(agent.get("/list?running=true")).await;
    let ids: Vec<_> = body["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, [&json!(running), &json!(lingering)]);
    assert_eq!(body["total"], 2);
    let lingering = &body["processes"][1];
    assert_eq!(
        (
            &lingering["running"],
            &lingering["lingering"],
            &lingering["status"]
        ),
        (&json!(false), &json!(true), &json!("lingering"))
    );
    assert_eq!(ok(agent.get("/list?running=false")).await["total"], 4);
}
