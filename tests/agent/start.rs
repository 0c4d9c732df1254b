//! `POST /start`.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{A, Agent, B, ok, refused, reply, started};

#[tokio::test]
async fn foreground_command() {
    let agent = Agent::new().await;
    agent.start("echo hello").await;
}

#[tokio::test]
async fn background_command() {
    let agent = Agent::new().await;
    let body = json!({ "command": "echo background", "background": true });
    started(agent.post("/start", &body)).await;
    assert_eq!(agent.list().await[0]["background"], true);
}

#[tokio::test]
async fn empty_command() {
    let agent = Agent::new().await;
    for body in [json!({ "command": "" }), json!({}), Value::Null] {
        refused(agent.post("/start", &body), 400, "Command is required.").await;
    }
    agent.start(" ").await;
}

#[tokio::test]
async fn malformed_json() {
    let agent = Agent::new().await;
    for body in ["{invalid json", "", "[]", r#"{"command":1}"#] {
        let request = agent.request(Method::POST, "/start").body(body);
        let body = refused(request, 400, "Request body must be valid JSON.").await;
        assert!(!body["detail"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn only_the_first_value_of_a_body_counts() {
    let agent = Agent::new().await;
    let bodies: [&[u8]; 3] = [
        b"{\"command\":\"echo \xff\",\"workdir\":null,\"env\":null,\"background\":null} trailing",
        br#"{"command":"echo x","unknown":[1]}{"command":""}"#,
        br#"{"command":"echo $V","env":{"V":null}}"#,
    ];
    for body in bodies {
        let request = agent.request(Method::POST, "/start").body(body.to_vec());
        let id = started(request).await;
        assert_eq!(agent.wait(&id).await["exit_code"], 0);
    }
}

#[tokio::test]
async fn custom_work_dir() {
    let agent = Agent::new().await;
    let directory = tempfile::tempdir().unwrap();
    let body = json!({
        "command": "touch marker.txt && ls marker.txt", "workdir": directory.path(),
    });
    let id = started(agent.post("/start", &body)).await;
    let output = agent.wait(&id).await;
    assert_eq!(output["exit_code"], 0);
    assert_eq!(output["output"], "marker.txt\n");
    assert!(directory.path().join("marker.txt").exists());
    let listed = agent.list().await[0]["workdir"].clone();
    assert_eq!(listed, json!(directory.path()));
}

/// Stands for `DefaultWorkDirIsHome` and its kin: the default is the workspace.
#[tokio::test]
async fn default_work_dir_is_the_workspace() {
    let agent = Agent::new().await;
    for workdir in [json!(null), json!("")] {
        let body = json!({ "command": "pwd", "workdir": workdir });
        let id = started(agent.post("/start", &body)).await;
        let expected = format!("{}\n", agent.root().display());
        assert_eq!(agent.wait(&id).await["output"], expected);
        assert_eq!(agent.list().await[0]["workdir"], json!(agent.root()));
    }
}

#[tokio::test]
async fn a_relative_work_dir_is_one_of_the_workspace() {
    let agent = Agent::new().await;
    std::fs::create_dir(agent.root().join("sub")).unwrap();
    let body = json!({ "command": "pwd", "workdir": "sub" });
    let id = started(agent.post("/start", &body)).await;
    let expected = format!("{}/sub\n", agent.root().display());
    assert_eq!(agent.wait(&id).await["output"], expected);
}

#[tokio::test]
async fn a_bad_work_dir_is_named() {
    let agent = Agent::new().await;
    std::fs::write(agent.root().join("file"), "").unwrap();
    let root = agent.root().display().to_string();
    for (workdir, problem) in [
        ("no/such", "does not exist"),
        ("file", "is not a directory"),
    ] {
        let body = json!({ "command": "true", "workdir": workdir });
        let text = format!("workdir {problem}: {root}/{workdir}");
        let body = refused(agent.post("/start", &body), 400, &text).await;
        assert!(body["detail"].as_str().unwrap().ends_with(&root), "{body}");
        let expected = json!([{ "field": "workdir", "detail": problem }]);
        assert_eq!(body["validations"], expected);
    }
    assert_eq!(agent.list().await.len(), 0);
}

#[tokio::test]
async fn custom_env() {
    let agent = Agent::new().await;
    let body = json!({ "command": "printenv MARK", "env": { "MARK": "a b\nc" } });
    let id = started(agent.post("/start", &body)).await;
    let output = agent.wait(&id).await;
    assert_eq!(
        (&output["exit_code"], &output["output"]),
        (&json!(0), &json!("a b\nc\n"))
    );
}

#[tokio::test]
async fn the_chat_is_in_the_environment() {
    let agent = Agent::new().await;
    let id = agent.start_for(A, "echo \"[$CODER_CHAT_ID]\"").await;
    assert_eq!(agent.wait(&id).await["output"], format!("[{A}]\n"));
    let (_, output) = agent.run("echo \"[$CODER_CHAT_ID]\"").await;
    assert_eq!(output["output"], "[]\n");
}

#[tokio::test]
async fn what_cannot_run_is_refused() {
    let agent = Agent::new().await;
    let body = json!({ "command": "echo a\0b" });
    refused(agent.post("/start", &body), 400, "NUL byte at offset 6").await;
    let body = json!({ "command": "true", "env": { "A=B": "" } });
    refused(agent.post("/start", &body), 400, "\"A=B\" cannot be set").await;
    let body = json!({ "command": "x".repeat((1 << 20) + 1) });
    refused(agent.post("/start", &body), 400, "the most is 1048576").await;
    let body = json!({ "command": "x".repeat(4 << 20) });
    refused(agent.post("/start", &body), 413, "at most 4194304 bytes").await;
}

#[tokio::test]
async fn a_chat_has_a_limit_of_its_own() {
    let agent = Agent::with(|mut config| {
        config.limits.live_per_chat = 1;
        config
    })
    .await;
    agent.start_for(A, "sleep 1000").await;
    let again = |chat| {
        let request = agent.post("/start", &json!({ "command": "sleep 1000" }));
        request.header("Coder-Chat-Id", chat)
    };
    let body = refused(again(A), 429, "Failed to start process.").await;
    assert!(body["detail"].as_str().unwrap().contains("end one first"));
    started(again(B)).await;
}

#[tokio::test]
async fn nothing_starts_after_the_end() {
    let agent = Agent::new().await;
    agent.registry.shutdown().await;
    let request = agent.post("/start", &json!({ "command": "true" }));
    let body = refused(request, 500, "Failed to start process.").await;
    assert_eq!(body["detail"], "manager is closed");
}

#[tokio::test]
async fn repeats_of_a_call_share_one_execution() {
    let agent = Agent::new().await;
    let command = "echo x >> counter; echo done";
    let call = |chat: &str, id: &str, body: Value| {
        let request = agent.post("/start", &body).header("Coder-Chat-Id", chat);
        request.header("Coder-Tool-Call-Id", id)
    };
    let body = json!({ "command": command, "env": { "A": "1", "B": "2" } });
    let all = join_all((0..20).map(|_| started(call(A, "call_1", body.clone())))).await;
    assert!(all.iter().all(|id| *id == all[0]), "{all:?}");
    agent.wait(&all[0]).await;
    // Also after the end, in another spelling, and with what is absent written out.
    let spelled =
        r#"{"env":{"B":"2","A":"1"},"workdir":"","command":"echo x >> counter; echo done"}"#;
    let spelled: Value = serde_json::from_str(spelled).unwrap();
    assert_eq!(started(call(A, "call_1", spelled)).await, all[0]);
    let counter = || std::fs::read_to_string(agent.root().join("counter")).unwrap();
    assert_eq!(counter(), "x\n");
    let other = json!({ "command": "echo other" });
    let text = "The tool call \"call_1\" was used for another request.";
    refused(call(A, "call_1", other), 409, text).await;
    // Another chat's call of the same name is another call.
    let id = started(call(B, "call_1", body.clone())).await;
    assert_ne!(id, all[0]);
    agent.wait(&id).await;
    // Without an id, each request runs.
    let id = started(agent.post("/start", &body)).await;
    agent.wait(&id).await;
    assert_eq!(counter(), "x\nx\nx\n");
}

#[tokio::test]
async fn a_broken_call_id_is_refused() {
    let agent = Agent::new().await;
    for id in ["", "a b", "a/b", &"x".repeat(257)] {
        let request = agent.post("/start", &json!({ "command": "true" }));
        let request = request.header("Coder-Tool-Call-Id", id);
        let body = refused(request, 400, "tool call id is not valid").await;
        assert_eq!(body["validations"][0]["field"], "Coder-Tool-Call-Id");
    }
    let request = agent.post("/start", &json!({ "command": "true" }));
    ok(request.header("Coder-Tool-Call-Id", "a%b:1#2")).await;
}

#[tokio::test]
async fn replies_are_escaped_for_html() {
    let agent = Agent::new().await;
    let (id, output) = agent.run("printf '<a>&\\342\\200\\250\\377'").await;
    assert_eq!(output["output"], "<a>&\u{2028}\u{FFFD}");
    let text = agent.get(&format!("/{id}/output")).send().await.unwrap();
    let text = text.text().await.unwrap();
    assert!(text.contains(r"\u003ca\u003e\u0026\u2028"), "{text}");
    let (status, _) = reply(agent.get("/list")).await;
    assert_eq!(status, 200);
}
