//! `Coder-Tool-Call-Id`: each tool call acts once, and is cancelled with what it started.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{A, Agent, B, TOMBSTONES, ok, refused, started, tell};
use crate::harness::{file, until_dead};

/// A tool call, and another one.
const CALL: &str = "99999999-8888-4777-8666-555555555555";
const OTHER: &str = "99999999-8888-4777-8666-444444444444";

/// The answer of a route: status, type and body.
type Reply = (u16, String, String);

async fn whole(request: RequestBuilder) -> Reply {
    let response = request.send().await.unwrap();
    let kind = response.headers()[CONTENT_TYPE]
        .to_str()
        .unwrap()
        .to_owned();
    let status = response.status().as_u16();
    (status, kind, response.text().await.unwrap())
}

fn of(request: RequestBuilder, chat: &str, call: &str) -> RequestBuilder {
    let request = request.header("Coder-Chat-Id", chat);
    request.header("Coder-Tool-Call-Id", call)
}

impl Agent {
    /// An edit of `file` that changes it again each time that it is made.
    fn edit_of(&self, chat: &str, call: &str) -> RequestBuilder {
        let edits = json!([{ "search": "one", "replace": "one two" }]);
        let path = self.root().join("file");
        let body = json!({ "files": [{ "path": path, "edits": edits }], "include_diff": true });
        let request = self.server.request(Method::POST, "/api/v0/edit-files");
        of(request.body(body.to_string()), chat, call)
    }

    fn write_of(&self, chat: &str, call: &str, content: &'static str) -> RequestBuilder {
        let path = self.root().join("file").display().to_string();
        let target = format!("/api/v0/write-file?path={path}");
        let request = self.server.request(Method::POST, &target);
        of(request.body(content), chat, call)
    }

    fn start_of(&self, chat: &str, call: &str, command: &str) -> RequestBuilder {
        let body = json!({ "command": command });
        of(self.post("/start", &body), chat, call)
    }

    fn cancel_of(&self, chat: &str, call: &str) -> RequestBuilder {
        let path = format!("/api/v0/tool-calls/{call}/cancel");
        let request = self.server.request(Method::POST, &path);
        request.header("Coder-Chat-Id", chat)
    }

    fn content(&self) -> String {
        std::fs::read_to_string(self.root().join("file")).unwrap()
    }

    fn put(&self, content: &str) {
        std::fs::write(self.root().join("file"), content).unwrap();
    }
}

#[tokio::test]
async fn an_edit_is_made_once() {
    let agent = Agent::new().await;
    agent.put("one\n");
    let first = whole(agent.edit_of(A, CALL)).await;
    assert_eq!((first.0, agent.content().as_str()), (200, "one two\n"));
    // Also by another spelling of the id and of the body.
    assert_eq!(whole(agent.edit_of(A, CALL)).await, first);
    assert_eq!(whole(agent.edit_of(A, &CALL.to_uppercase())).await, first);
    assert_eq!(agent.content(), "one two\n");
    // Another call, and one of the same name in another chat, is another edit.
    ok(agent.edit_of(A, "call_1")).await;
    ok(agent.edit_of(B, CALL)).await;
    assert_eq!(agent.content(), "one two two two\n");
    let text = format!("The tool call {CALL:?} was used for another request.");
    refused(agent.write_of(A, CALL, "x"), 409, &text).await;
    assert_eq!(agent.content(), "one two two two\n");
}

#[tokio::test]
async fn a_write_is_made_once() {
    let agent = Agent::new().await;
    let first = whole(agent.write_of(A, CALL, "first")).await;
    assert_eq!(first.0, 200);
    agent.put("changed since");
    assert_eq!(whole(agent.write_of(A, CALL, "first")).await, first);
    refused(agent.write_of(A, CALL, "second"), 409, "another request").await;
    assert_eq!(agent.content(), "changed since");
    ok(agent.write_of(A, OTHER, "second")).await;
    assert_eq!(agent.content(), "second");
}

#[tokio::test]
async fn repeats_at_the_same_time_share_one_edit() {
    let agent = Agent::new().await;
    agent.put("one\n");
    let all = join_all((0..20).map(|_| whole(agent.edit_of(A, CALL)))).await;
    assert!(all.iter().all(|reply| *reply == all[0]), "{all:?}");
    assert_eq!((all[0].0, agent.content().as_str()), (200, "one two\n"));
}

#[tokio::test]
async fn failures_are_replayed() {
    let agent = Agent::new().await;
    agent.put("zero\n");
    let edit = whole(agent.edit_of(A, CALL)).await;
    assert_eq!(edit.0, 400, "{edit:?}");
    let command = json!({ "command": "pwd", "workdir": "later" });
    let start = || of(agent.post("/start", &command), A, OTHER);
    let failed = whole(start()).await;
    assert_eq!(failed.0, 400, "{failed:?}");
    // The cause of the failure is gone now.
    agent.put("one\n");
    std::fs::create_dir(agent.root().join("later")).unwrap();
    assert_eq!(whole(agent.edit_of(A, CALL)).await, edit);
    assert_eq!(whole(start()).await, failed);
    assert_eq!(agent.content(), "one\n");
    assert_eq!(agent.list().await.len(), 0);
}

#[tokio::test]
async fn what_was_not_understood_is_not_replayed() {
    let agent = Agent::new().await;
    let broken = of(agent.request(Method::POST, "/start"), A, CALL).body("{\"command\":");
    refused(broken, 400, "valid JSON").await;
    started(agent.start_of(A, CALL, "true")).await;
}

#[tokio::test]
async fn a_refusal_for_lack_of_a_place_is_not_replayed() {
    let agent = Agent::with(|mut config| {
        config.limits.live_per_chat = 1;
        config
    })
    .await;
    let id = started(agent.start_of(A, CALL, "sleep 1000")).await;
    refused(agent.start_of(A, OTHER, "true"), 429, "Failed to start").await;
    ok(agent.post(&format!("/{id}/signal"), &json!({ "signal": "kill" }))).await;
    agent.wait(&id).await;
    started(agent.start_of(A, OTHER, "true")).await;
}

#[tokio::test]
async fn a_process_has_the_id_of_its_tool_call() {
    let agent = Agent::new().await;
    let start = || agent.start_of(A, CALL, "echo x >> counter");
    let id = started(start()).await;
    assert_eq!(id, CALL);
    agent.wait(&id).await;
    let again = agent.start_of(A, &CALL.to_uppercase(), "echo x >> counter");
    assert_eq!(started(again).await, CALL);
    let counter = std::fs::read_to_string(agent.root().join("counter"));
    assert_eq!(counter.unwrap(), "x\n");
    // Ids are those of one server: another chat cannot have the same one, and learns nothing of it.
    refused(agent.start_of(B, CALL, "true"), 409, "another request").await;
    assert_eq!(agent.list().await.len(), 1);
    // An id that is no UUID does not become that of a process.
    let id = started(agent.start_of(A, "call_1", "true")).await;
    assert_ne!(id, "call_1");
}

#[tokio::test]
async fn cancelling_kills_all_that_was_started() {
    let agent = Agent::new().await;
    let command = "echo before; trap '' TERM; setsid sh -c 'echo $$ > left; exec sleep 1000' & \
                   echo $$ > pid; while :; do sleep 1000; done";
    let (status, kind, body) = whole(agent.start_of(A, CALL, command)).await;
    let mut pids = Vec::new();
    for name in ["pid", "left"] {
        let pid = file(&agent.root().join(name)).await;
        pids.push(pid.trim().parse::<u32>().unwrap());
    }
    let cancelled = ok(agent.cancel_of(A, CALL)).await;
    let expected = json!({
        "received": true, "status": status, "content_type": kind, "body": STANDARD.encode(&body),
    });
    assert_eq!(cancelled, expected);
    // It is over when it is said to be.
    let output = agent.output(CALL).await;
    for (field, value) in [
        ("running", json!(false)),
        ("canceled", json!(true)),
        ("timed_out", json!(false)),
        ("exit_code", json!(-1)),
        ("signal", json!("SIGKILL")),
        ("cause", json!("cancelled")),
        ("output", json!("before\n")),
    ] {
        assert_eq!(output[field], value, "{field}: {output}");
    }
    // The shell. What left its group is reached where there is a supervisor: see `program`.
    until_dead(pids[0]).await;
    _ = nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(pids[1]).unwrap()),
        nix::sys::signal::Signal::SIGKILL,
    );
    // Again it says the same, and changes nothing.
    assert_eq!(ok(agent.cancel_of(A, CALL)).await, expected);
    assert_eq!(
        agent.output(CALL).await["duration_ms"],
        output["duration_ms"]
    );
    refused(
        agent.start_of(A, CALL, command),
        409,
        "Tool call was canceled.",
    )
    .await;
}

#[tokio::test]
async fn a_cancellation_comes_before_its_call() {
    let agent = Agent::new().await;
    agent.put("one\n");
    for call in [CALL, "call_1"] {
        for _ in 0..2 {
            let cancelled = ok(agent.cancel_of(A, call)).await;
            assert_eq!(cancelled, json!({ "received": false }));
        }
        let text = "Tool call was canceled.";
        refused(agent.start_of(A, call, "touch ran"), 409, text).await;
        refused(agent.edit_of(A, call), 409, text).await;
        refused(agent.write_of(A, call, "x"), 409, text).await;
    }
    assert_eq!(agent.content(), "one\n");
    assert!(!agent.root().join("ran").exists());
    // In another chat that is another call.
    started(agent.start_of(B, CALL, "true")).await;
}

#[tokio::test]
async fn an_edit_that_was_made_is_told_and_stays() {
    let agent = Agent::new().await;
    agent.put("one\n");
    let (status, kind, body) = whole(agent.edit_of(A, CALL)).await;
    let cancelled = ok(agent.cancel_of(A, CALL)).await;
    let expected = json!({
        "received": true, "status": status, "content_type": kind, "body": STANDARD.encode(body),
    });
    assert_eq!(cancelled, expected);
    assert_eq!(agent.content(), "one two\n");
    refused(agent.edit_of(A, CALL), 409, "Tool call was canceled.").await;
}

#[tokio::test]
async fn only_what_a_cancellation_ended_is_canceled() {
    let agent = Agent::new().await;
    let canceled = async |id: &str| agent.output(id).await["canceled"].clone();
    let id = started(agent.start_of(A, CALL, "echo done; exit 3")).await;
    agent.wait(&id).await;
    ok(agent.cancel_of(A, CALL)).await;
    assert_eq!(
        (
            canceled(&id).await,
            agent.output(&id).await["exit_code"].clone()
        ),
        (json!(false), json!(3))
    );
    // A signal is the model's own doing.
    let id = started(agent.start_of(A, OTHER, "sleep 1000")).await;
    ok(agent.post(&format!("/{id}/signal"), &json!({ "signal": "kill" }))).await;
    agent.wait(&id).await;
    ok(agent.cancel_of(A, OTHER)).await;
    assert_eq!(canceled(&id).await, false);
}

#[tokio::test]
async fn a_chat_cancels_its_own_calls() {
    let agent = Agent::new().await;
    let id = started(agent.start_of(A, CALL, "sleep 1000")).await;
    assert_eq!(
        ok(agent.cancel_of(B, CALL)).await,
        json!({ "received": false })
    );
    let unnamed = agent
        .server
        .request(Method::POST, &format!("/api/v0/tool-calls/{CALL}/cancel"));
    assert_eq!(ok(unnamed).await, json!({ "received": false }));
    assert_eq!(agent.output(&id).await["running"], true);
    assert_eq!(ok(agent.cancel_of(A, CALL)).await["received"], true);
    assert_eq!(agent.output(&id).await["running"], false);
    // A call of no chat is one as well.
    let start = agent.post("/start", &json!({ "command": "sleep 1000" }));
    let id = started(start.header("Coder-Tool-Call-Id", OTHER)).await;
    let unnamed = agent
        .server
        .request(Method::POST, &format!("/api/v0/tool-calls/{OTHER}/cancel"));
    assert_eq!(ok(unnamed).await["received"], true);
    assert_eq!(agent.output(&id).await["canceled"], true);
}

#[tokio::test]
async fn what_cannot_be_a_tool_call_is_not_cancelled() {
    let agent = Agent::new().await;
    for call in ["a%20b", "%ff", &"x".repeat(257)] {
        refused(agent.cancel_of(A, call), 400, "Invalid tool call ID.").await;
    }
    let bare = format!("{}/api/v0/tool-calls/{CALL}/cancel", agent.server.url);
    let bare = agent.server.client.post(bare).send().await.unwrap();
    assert_eq!(bare.status(), 401);
}

#[tokio::test]
async fn cancellations_of_what_never_arrives_are_bounded() {
    let agent = Agent::new().await;
    for n in 0..TOMBSTONES {
        ok(agent.cancel_of(A, &format!("call_{n}"))).await;
    }
    let id = started(agent.start_of(A, CALL, "sleep 1000")).await;
    let body = refused(
        agent.cancel_of(A, OTHER),
        429,
        "Too many tool calls were canceled",
    )
    .await;
    let detail = body["detail"].as_str().unwrap();
    assert!(detail.starts_with(&TOMBSTONES.to_string()), "{body}");
    ok(agent.cancel_of(B, OTHER)).await;
    // A tool call that has arrived can still be cancelled.
    ok(agent.cancel_of(A, CALL)).await;
    assert_eq!(agent.output(&id).await["canceled"], true);
}

#[tokio::test]
async fn a_start_says_how_long_it_is_waited_for() {
    let agent = Agent::new().await;
    let fifo = agent.fifo("fifo");
    let start = |timeout: i64, background: bool| {
        let body = json!({
            "command": "read line < fifo; echo $line", "timeout_ms": timeout, "background": background,
        });
        of(agent.post("/start", &body), A, CALL)
    };
    refused(
        start(1000, true),
        400,
        "timeout_ms cannot be combined with background",
    )
    .await;
    refused(start(-1, false), 400, "timeout_ms must not be negative").await;
    let id = started(start(1, false)).await;
    // A repeat moves nothing.
    assert_eq!(started(start(3_600_000, false)).await, id);
    let path = format!("/{id}/output?wait=true&stop_at_start_timeout=true");
    let output = ok(agent.get(&path)).await;
    assert_eq!(
        (&output["running"], &output["timed_out"]),
        (&json!(true), &json!(true))
    );
    assert!(output["duration_ms"].as_u64().unwrap() >= 1, "{output}");
    // Other waits outlast it.
    let wait = agent.wait(&id);
    let (output, ()) = tokio::join!(wait, tell(fifo, "said\n"));
    assert_eq!(output["output"], "said\n");
    assert_eq!(
        (&output["running"], &output["timed_out"]),
        (&json!(false), &json!(false))
    );
    let again = agent.output(&id).await;
    assert_eq!(again["duration_ms"], output["duration_ms"]);
}

#[tokio::test]
async fn a_start_without_a_timeout_is_waited_for() {
    let agent = Agent::new().await;
    let fifo = agent.fifo("fifo");
    let body: Value = json!({ "command": "read line < fifo", "timeout_ms": 0, "background": true });
    let id = started(agent.post("/start", &body)).await;
    assert_eq!(agent.output(&id).await["timed_out"], false);
    let path = format!("/{id}/output?wait=true&stop_at_start_timeout=true");
    let (output, ()) = tokio::join!(ok(agent.get(&path)), tell(fifo, "x\n"));
    assert_eq!(output["running"], false);
}
