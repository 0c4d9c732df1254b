//! Sessions of streamable HTTP that outlive their server.

use nix::sys::signal::Signal;
use toolhost_needs::needs;

use super::*;
use crate::harness::serving::{Serving, server};
use crate::harness::{Mounted, until_dead};

/// A server program in a workspace that keeps its state, and a client of it.
fn start(workspace: &Path, arguments: &[&str]) -> (Serving, Wire) {
    let mut command = server(workspace);
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.args(arguments);
    let serving = Serving::start(command);
    let wire = Wire::to(&serving.url);
    (serving, wire)
}

async fn call(wire: &Wire, session: &str, arguments: Value) -> Value {
    let params = json!({ "name": "execute", "arguments": arguments });
    wire.ask(session, "tools/call", params).await["result"].clone()
}

fn chat(result: &Value) -> &str {
    let chat = result["_meta"]["io.toolhost/chat"].as_str();
    chat.unwrap_or_else(|| panic!("{result}"))
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

#[tokio::test]
async fn a_session_goes_on_after_its_server_was_killed() {
    let workspace = tempfile::tempdir().unwrap();
    let (mut serving, wire) = start(workspace.path(), &[]);
    let session = wire.session().await;
    let before = call(&wire, &session, json!({ "command": "true" })).await;
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGKILL] {
        serving.signal(signal);
        let wire;
        (serving, wire) = start(workspace.path(), &[]);
        // Of many requests at once, one gives the session its worker.
        let pings = (0..8).map(async |id| {
            let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
            wire.within(&session, &ping).await.reply(id).await
        });
        for pong in futures_util::future::join_all(pings).await {
            assert_eq!(pong["result"], json!({}), "{pong}");
        }
        let after = call(&wire, &session, json!({ "command": "true" })).await;
        assert_eq!(chat(&after), chat(&before));
    }
    let wire = Wire::to(&serving.url);
    // The chat is the session's own: it ends with it.
    let command = "echo $$ > pid; exec sleep 1000";
    call(
        &wire,
        &session,
        json!({ "command": command, "run_in_background": true }),
    )
    .await;
    let pid = pid(workspace.path().join("pid")).await;
    assert_eq!(wire.end(&session).await, 204);
    until_dead(pid).await;
    serving.signal(Signal::SIGKILL);
    let (_serving, wire) = start(workspace.path(), &[]);
    assert_eq!(wire.within(&session, &ping()).await.status(), 404);
}

#[tokio::test]
async fn a_session_of_a_named_chat_stays_in_it() {
    let workspace = tempfile::tempdir().unwrap();
    let (mut serving, mut wire) = start(workspace.path(), &[]);
    wire.url.push_str("/support-42");
    let session = wire.session().await;
    serving.signal(Signal::SIGKILL);
    let (_serving, mut wire) = start(workspace.path(), &[]);
    let result = call(&wire, &session, json!({ "command": "true" })).await;
    assert_eq!(chat(&result), "support-42");
    wire.url.push_str("/another");
    assert_eq!(wire.within(&session, &ping()).await.status(), 400);
}

#[tokio::test]
async fn streams_open_again_and_events_of_an_earlier_server_are_gone() {
    let workspace = tempfile::tempdir().unwrap();
    let (mut serving, wire) = start(workspace.path(), &[]);
    let session = wire.session().await;
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute("echo early") });
    let mut stream = wire.within(&session, &message).await;
    stream.reply(1).await;
    let of_request = stream.last.unwrap();
    serving.signal(Signal::SIGKILL);

    // A stream of the new server has the same number, and is not taken for the stream of before.
    let (mut serving, wire) = start(workspace.path(), &[]);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute("echo late") });
    wire.within(&session, &message).await.reply(1).await;
    assert_eq!(wire.listen(&session, Some(&of_request)).await.status(), 204);

    // The tools may be others, so the client hears that they changed.
    let mut standalone = wire.listen(&session, None).await;
    let changed = standalone.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    let of_session = standalone.last.unwrap();
    serving.signal(Signal::SIGKILL);
    let (_serving, wire) = start(workspace.path(), &[]);
    let mut standalone = wire.listen(&session, Some(&of_session)).await;
    let changed = standalone.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_ne!(standalone.last.unwrap(), of_session);
}

#[tokio::test]
async fn a_client_keeps_its_capabilities_and_subscriptions() {
    let workspace = tempfile::tempdir().unwrap();
    let (mut serving, wire) = start(workspace.path(), &[]);
    let mut client = initialize();
    client["capabilities"] = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let session = wire.try_session_with(client).await.1.unwrap();
    let command = json!({ "command": "exec sleep 1000", "run_in_background": true });
    let started = call(&wire, &session, command).await;
    let processes = &started["_meta"]["io.toolhost/processes"];
    let process = processes[0].as_str().unwrap_or_else(|| panic!("{started}"));
    let uri = format!("toolhost://processes/{process}/output");
    let subscribed = wire
        .ask(&session, "resources/subscribe", json!({ "uri": uri }))
        .await;
    assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    serving.signal(Signal::SIGKILL);

    let (_serving, wire) = start(workspace.path(), &[]);
    // The process ended with the server, of which the client hears.
    let mut standalone = wire.listen(&session, None).await;
    let updated = loop {
        let message = standalone.next().await.unwrap();
        if message["method"] == "notifications/resources/updated" {
            break message;
        }
    };
    assert_eq!(updated["params"]["uri"], uri.as_str());
    let called = call(
        &wire,
        &session,
        json!({ "command": "until [ -e go ]; do sleep 0.01; done" }),
    )
    .await;
    assert_eq!(called["resultType"], "task", "{called}");
    std::fs::write(workspace.path().join("go"), "").unwrap();
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let workspace = tempfile::tempdir().unwrap();
    let config = workspace.path().join("toolhost.toml");
    let section = |name: &str| {
        let mut command = crate::harness::serving::client();
        let output = command.args(["token", name]).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout).trim().to_owned(), text(output.stderr))
    };
    let ((one, of_one), (other, of_other)) = (section("one"), section("other"));
    let both = format!("{of_one}\n{of_other}");
    let start = |text: &str| {
        std::fs::write(&config, text).unwrap();
        let config = config.to_str().unwrap();
        start(workspace.path(), &["--config", config])
    };
    let status = async |wire: &mut Wire, token: &str, session: &str| {
        wire.token = token.to_owned();
        wire.within(session, &ping()).await.status()
    };
    let (mut serving, mut wire) = start(&both);
    wire.token = one.clone();
    let session = wire.session().await;
    serving.signal(Signal::SIGKILL);

    let (mut serving, mut wire) = start(&both);
    assert_eq!(status(&mut wire, &other, &session).await, 404);
    assert_eq!(status(&mut wire, &one, &session).await, 200);
    serving.signal(Signal::SIGKILL);

    let (mut serving, mut wire) = start(&of_other);
    assert_eq!(status(&mut wire, &one, &session).await, 401);
    assert_eq!(status(&mut wire, &other, &session).await, 404);
    serving.signal(Signal::SIGKILL);

    let (_serving, mut wire) = start(&both);
    assert_eq!(status(&mut wire, &one, &session).await, 404);
}

#[needs(mount)]
#[tokio::test]
async fn a_full_disk_ends_no_session() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join(".state");
    std::fs::create_dir(&state).unwrap();
    let disk = Mounted::in_memory(&state, "size=64m");
    let (mut serving, wire) = start(workspace.path(), &[]);
    disk.fill();
    let sessions = [wire.session().await, wire.session().await];
    for session in &sessions {
        assert_eq!(wire.within(session, &ping()).await.status(), 200);
    }
    serving.signal(Signal::SIGKILL);
    let told = serving.rest();
    assert!(!told.contains("cannot be stored"), "{told}");
    // The store has room of its own.
    let (_serving, wire) = start(workspace.path(), &[]);
    for session in &sessions {
        assert_eq!(wire.within(session, &ping()).await.status(), 200);
    }
}

#[tokio::test]
async fn a_long_first_message_begins_no_session() {
    let http = Http::start().await;
    let mut client = initialize();
    client["clientInfo"]["title"] = "x".repeat(64 << 10).into();
    let (status, _, problem) = http.try_session_with(client).await;
    assert_eq!((status, &problem["code"]), (413, &json!("too_large")));
}
