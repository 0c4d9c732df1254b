//! The approval hook: real scripts and a real HTTP server that approve, refuse, answer nonsense, hang, or are not there.

mod url;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_call::approval::{Approval, Url};
use toolhost_call::audit::{Audit, Config};
use toolhost_call::metrics::Metrics;
use toolhost_call::tool::{ErrorKind, ToolError};
use toolhost_plugin::Limits;
use toolhost_server::ServerParts;
use toolhost_state::state_dir::StateDir;

use crate::guest::{guest, limited, options};
use crate::harness::{PATIENCE, Server, Setup, call, file, request, until_dead};

/// What is not a matter of time here gets as much of it as there is.
const LONG: Duration = Duration::from_secs(3600);

const FAILED: &str =
    "the call was not approved: the approval hook could not be asked; the operator's log says why";

/// A script in a directory of its own, which it knows as `$1`.
struct Script {
    directory: tempfile::TempDir,
}

impl Script {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = Self { directory };
        let path = script.path("hook");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        script
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn approval(&self, timeout: Duration) -> Approval {
        let directory = self.directory.path().to_str().unwrap().to_owned();
        // Through a shell: a file that was just written may still be open in a child of another test.
        let hook = self.path("hook").to_str().unwrap().to_owned();
        Approval::command("sh", vec![hook, directory], timeout).unwrap()
    }
}

/// A host with a tool that promises nothing, and its trail.
struct Asking {
    setup: Setup,
    metrics: Metrics,
    trail: tempfile::TempDir,
}

impl Asking {
    async fn new(approval: Approval) -> Self {
        Self::limited(approval, Limits::default()).await
    }

    async fn limited(approval: Approval, limits: Limits) -> Self {
        let trail = tempfile::tempdir().unwrap();
        let metrics = Metrics::default();
        let directory = StateDir::open(&trail.path().join("audit")).unwrap();
        let audit = Audit::open(directory, &Config::default(), &metrics).unwrap();
        let setup = Setup::with(|builder| {
            builder
                .audit(audit)
                .metrics(metrics.clone())
                .approval(approval)
                .plugin(guest("well_behaved"), limited("p", limits))
        })
        .await;
        Self {
            setup,
            metrics,
            trail,
        }
    }

    async fn error(&self) -> ToolError {
        let outcome = self.setup.outcome("t", json!({ "x": 1 })).await;
        outcome.result.clone().expect_err("it is refused")
    }

    /// The events about approvals, after the end of the host.
    async fn events(self) -> Vec<Value> {
        self.setup.host.shutdown().await;
        let text = std::fs::read_to_string(self.trail.path().join("audit/audit.jsonl")).unwrap();
        let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let about = |event: &Value| event["event"].as_str().unwrap().starts_with("approval");
        events.filter(about).collect()
    }

    fn counted(&self, answer: &str) -> bool {
        let line =
            format!("toolhost_plugin_approvals_total{{plugin=\"p\",answer=\"{answer}\"}} 1\n");
        self.metrics.text().contains(&line)
    }
}

fn denied(error: &ToolError, text: &str) {
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Denied, text)
    );
}

#[tokio::test]
async fn a_script_approves() {
    let script = Script::new("cat > \"$1/question\"; env > \"$1/env\"; pwd >> \"$1/env\"; exit 0");
    let asking = Asking::new(script.approval(LONG)).await;
    let request = request("chat-1", "t", &json!({ "x": [1, "two"] }));
    let outcome = call(&asking.setup.host, request.clone()).await.unwrap();
    assert!(!outcome.is_error(), "{outcome:?}");
    let question = std::fs::read_to_string(script.path("question")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&question).unwrap(),
        json!({
            "principal": "host", "chat": "chat-1", "call": request.id.as_str(), "plugin": "p", "tool": "t",
            "hints": { "read_only": false, "non_destructive": false, "idempotent": false, "closed_world": false },
            "arguments": { "x": [1, "two"] },
        })
    );
    // Nothing of the host's environment, and not its directory.
    let environment = std::fs::read_to_string(script.path("env")).unwrap();
    for line in environment.lines() {
        let name = line.split('=').next().unwrap();
        assert!(
            ["PATH", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "/"].contains(&name),
            "{line}"
        );
    }
    assert!(environment.ends_with("\n/\n"));
    assert!(asking.counted("granted"));
    let events = asking.events().await;
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["approval_asked", "approval_granted"]);
    assert!(
        events
            .iter()
            .all(|event| event["call"] == request.id.as_str() && event["tool"] == "t")
    );
}

#[tokio::test]
async fn a_script_refuses() {
    // It reads nothing of the question, and what it leaves running holds its output open.
    let script = Script::new("sleep 1000 & echo $! > \"$1/pid\"; echo 'not on a Friday'; exit 1");
    let asking = Asking::new(script.approval(LONG)).await;
    denied(
        &asking.error().await,
        "the call was not approved: not on a Friday",
    );
    let pid = std::fs::read_to_string(script.path("pid")).unwrap();
    let pid = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).unwrap();
    assert!(asking.counted("refused"));
    let events = asking.events().await;
    assert_eq!(events[1]["event"], "approval_refused");
    assert_eq!(events[1]["reason"], "not on a Friday");
    let script = Script::new("exit 1");
    let silent = Asking::new(script.approval(LONG)).await;
    denied(
        &silent.error().await,
        "the call was not approved; no reason was given",
    );
    let script = Script::new("yes no | head -c 1000000; exit 1");
    let endless = Asking::new(script.approval(LONG)).await;
    let reason = "no\n".repeat(1000);
    let text = format!(
        "the call was not approved: {}",
        reason.get(..2048).unwrap().trim()
    );
    denied(&endless.error().await, &text);
}

#[tokio::test]
async fn a_broken_script_approves_nothing() {
    for (text, why) in [
        ("exit 7", "it ended with exit status: 7"),
        ("kill -9 $$", "it ended with signal: 9 (SIGKILL)"),
    ] {
        let script = Script::new(text);
        let asking = Asking::new(script.approval(LONG)).await;
        denied(&asking.error().await, FAILED);
        assert!(asking.counted("failed"));
        assert_eq!(asking.events().await[1]["reason"], why);
    }
    let missing = Approval::command("/nonexistent/hook", Vec::new(), LONG).unwrap();
    let asking = Asking::new(missing).await;
    denied(&asking.error().await, FAILED);
    let why = asking.events().await[1]["reason"].clone();
    assert_eq!(
        why,
        "/nonexistent/hook cannot be run: there is no such program"
    );
    let error = Approval::command("./hook", Vec::new(), LONG).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program \"./hook\" of the approval hook is neither an absolute path nor a name to be looked up"
    );
}

/// Leaves the ids of its two processes, and does not answer.
const HANGS: &str =
    "sleep 1000 & echo $$ $! > \"$1/pids.new\"; mv \"$1/pids.new\" \"$1/pids\"; wait";

async fn hook_is_dead(script: &Script) {
    let pids = file(&script.path("pids")).await;
    for pid in pids.split_whitespace() {
        until_dead(pid.parse().unwrap()).await;
    }
}

#[tokio::test]
async fn a_script_that_hangs_is_killed_with_its_children() {
    let script = Script::new(HANGS);
    let hook = script.approval(Duration::from_secs(5));
    let asking = Asking::new(hook).await;
    denied(&asking.error().await, FAILED);
    hook_is_dead(&script).await;
    let events = asking.events().await;
    assert_eq!(events[1]["reason"], "it did not answer within 5000 ms");
}

#[tokio::test]
async fn a_cancelled_call_stops_waiting() {
    let script = Script::new(HANGS);
    let asking = Asking::new(script.approval(LONG)).await;
    let host = asking.setup.host.clone();
    let calling = tokio::spawn(async move { host.call(request("chat", "t", &json!({}))).await });
    file(&script.path("pids")).await;
    asking.setup.host.shutdown().await;
    let outcome = calling.await.unwrap().unwrap();
    let error = outcome.result.as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled, "{error}");
    assert!(outcome.cancelled);
    hook_is_dead(&script).await;
    assert_eq!(asking.events().await[1]["reason"], "the call was cancelled");
}

#[tokio::test]
async fn the_wait_takes_nothing_of_the_tools_own_time() {
    let slow = Script::new("sleep 3.5; exit 0");
    let limits = Limits {
        // Enough for the guest on a slow machine with other things to do, and less than the script takes.
        deadline: Duration::from_secs(3),
        ..Limits::default()
    };
    let asking = Asking::limited(slow.approval(LONG), limits).await;
    assert!(!asking.setup.outcome("t", json!({})).await.is_error());
}

#[tokio::test]
async fn no_wait_is_longer_than_the_longest_call() {
    let script = Script::new(HANGS);
    let limits = Limits {
        deadline: Duration::from_secs(5),
        max_deadline: Duration::from_secs(5),
        ..Limits::default()
    };
    let asking = Asking::limited(script.approval(LONG), limits).await;
    let error = asking.error().await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            ErrorKind::Limit,
            "the tool was stopped: deadline of 5000 ms reached"
        )
    );
    hook_is_dead(&script).await;
    let metric = "toolhost_plugin_limits_hit_total{plugin=\"p\",limit=\"deadline\"} 1\n";
    assert!(asking.metrics.text().contains(metric));
}

#[tokio::test]
async fn tools_that_only_read_never_ask() {
    let script = Script::new("touch \"$1/asked\"; exit 1");
    let asking = Asking::new(script.approval(LONG)).await;
    asking.setup.call("process_list", json!({})).await;
    std::fs::write(asking.setup.root().join("file"), "x\n").unwrap();
    asking
        .setup
        .call("read_file", json!({ "path": "file" }))
        .await;
    assert!(!script.path("asked").exists());
    let arguments = json!({ "command": "touch ran" });
    let outcome = asking.setup.outcome("execute", arguments).await;
    denied(
        outcome.result.as_ref().unwrap_err(),
        "the call was not approved; no reason was given",
    );
    assert!(script.path("asked").exists() && !asking.setup.root().join("ran").exists());
}

/// A tool that promises to change nothing can change nothing.
#[tokio::test]
async fn false_promise() {
    let script = Script::new("touch \"$1/asked\"; exit 0");
    let hooked = Setup::with(|builder| {
        builder
            .approval(script.approval(LONG))
            .plugin(guest("false_promise"), options("liar"))
    });
    let hooked = hooked.await;
    let outcome = hooked.outcome("t", json!({})).await;
    assert!(outcome.processes.is_empty(), "{outcome:?}");
    assert!(!script.path("asked").exists() && !hooked.root().join("ran").exists());
    // Without a hook, it is as good as its plugin's word.
    let setup = Setup::with(|builder| builder.plugin(guest("false_promise"), options("liar")));
    let setup = setup.await;
    let outcome = setup.outcome("t", json!({})).await;
    assert_eq!(outcome.processes.len(), 1, "{outcome:?}");
}

/// A server of a host's tools and of the agent API.
async fn with_agent(script: &Script) -> (Setup, Server) {
    let setup = Setup::with(|builder| builder.approval(script.approval(LONG))).await;
    let server = Server::start(ServerParts::from(setup.host.clone()).with_agent()).await;
    (setup, server)
}

async fn sent(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn the_agent_api_asks_before_it_starts_and_writes() {
    let script =
        Script::new("cat >> \"$1/questions\"; echo >> \"$1/questions\"; echo 'not here'; exit 1");
    let (setup, server) = with_agent(&script).await;
    let root = setup.root();
    let (old, new) = (root.join("old"), root.join("new"));
    std::fs::write(&old, "text").unwrap();
    let post = |call: &str, path: &str| {
        let request = server.request(reqwest::Method::POST, &format!("/api/v0/{path}"));
        request.header("Coder-Tool-Call-Id", call)
    };
    let start = json!({ "command": "touch new", "env": { "A": "b" } });
    let edits = json!([{ "search": "text", "replace": "x" }]);
    let edit = json!({ "files": [{ "path": old, "edits": edits }] });
    let write = format!("write-file?path={}", new.display());
    for request in [
        post("call-0", "processes/start").json(&start),
        post("call-1", &write).body("content"),
        post("call-2", "edit-files").json(&edit),
    ] {
        let (status, body) = sent(request).await;
        assert_eq!(
            (status, &body["message"]),
            (403, &json!("The request was not approved."))
        );
        assert_eq!(body["detail"], "the call was not approved: not here");
    }
    assert!(!new.exists());
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "text");
    let questions = std::fs::read_to_string(script.path("questions")).unwrap();
    let questions: Vec<Value> = questions
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let tools: Vec<_> = questions.iter().map(|question| &question["tool"]).collect();
    assert_eq!(tools, ["processes/start", "write-file", "edit-files"]);
    for (index, question) in questions.iter().enumerate() {
        assert_eq!(question["plugin"], "agent-api");
        assert_eq!(
            (&question["chat"], &question["call"]),
            (&Value::Null, &json!(format!("call-{index}")))
        );
    }
    assert_eq!(questions[0]["arguments"]["command"], "touch new");
    assert_eq!(questions[0]["arguments"]["env"], json!({ "A": "b" }));
    assert_eq!(
        questions[1]["arguments"],
        json!({ "path": new, "size": 7, "content": "content" })
    );
    assert_eq!(
        questions[2]["arguments"]["files"][0]["edits"][0]["replace"],
        "x"
    );
    // Looking needs no approval.
    let read = server.request(
        reqwest::Method::GET,
        &format!("/api/v0/read-file?path={}", old.display()),
    );
    assert_eq!(read.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn the_agent_api_does_what_is_approved_and_asks_once_for_a_repeat() {
    let script = Script::new("echo >> \"$1/asked\"; exit 0");
    let (_setup, server) = with_agent(&script).await;
    let start = || {
        let request = server.request(reqwest::Method::POST, "/api/v0/processes/start");
        let request = request.header("Coder-Tool-Call-Id", "call-1");
        sent(request.json(&json!({ "command": "true" })))
    };
    let first = start().await;
    assert_eq!(first.0, 200, "{}", first.1);
    assert_eq!(start().await, first);
    let asked = std::fs::read_to_string(script.path("asked")).unwrap();
    assert_eq!(asked.lines().count(), 1);
}

#[tokio::test]
async fn a_hook_that_others_can_change_is_not_asked() {
    let script = Script::new("exit 0");
    let path = script.path("hook");
    let hook = || path.to_str().unwrap().to_owned();
    let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    let asking = Asking::new(script.approval(LONG)).await;
    mode(0o772);
    for refused in [
        Approval::command(hook(), Vec::new(), LONG),
        Approval::command("sh", vec![hook()], LONG),
    ] {
        let expected = format!(
            "the approval hook cannot be used: others may change {} (mode 772): run `chmod go-w` on it",
            path.display()
        );
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }
    denied(&asking.error().await, FAILED);
    mode(0o700);
    assert!(!asking.setup.outcome("t", json!({})).await.is_error());
    let token = script.path("token");
    std::fs::write(&token, "t0ken").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();
    let refused = Url::new("http://localhost", &[], Some(token)).unwrap_err();
    assert!(refused.to_string().contains("chmod 600"), "{refused}");
}

/// What is typed into a shell can do as much as a command.
#[tokio::test]
async fn input_over_http_is_asked_about() {
    let script = Script::new(
        "read -r question; printf '%s\\n' \"$question\" >> \"$1/questions\"; case $question in *forbidden*) echo 'not this'; exit 1;; esac",
    );
    let (setup, server) = with_agent(&script).await;
    let start = json!({ "command": "sh", "keep_input_open": true, "run_in_background": true });
    let body = json!({ "tool": "execute", "arguments": start });
    let (_, reply) = server.put("a", "1", body).await;
    let id = reply["processes"][0].as_str().unwrap();
    let path = format!("/v1/chats/a/processes/{id}/input");
    let types = async |text: &str| {
        let request = server.request(reqwest::Method::POST, &path);
        sent(request.json(&json!({ "text": text }))).await
    };
    let (status, answer) = types("echo x > forbidden\n").await;
    assert_eq!(
        (status, &answer["code"]),
        (403, &json!("not_approved")),
        "{answer}"
    );
    assert_eq!(answer["detail"], "the call was not approved: not this");
    assert_eq!(types("echo x > allowed\n").await.0, 200);
    setup.file("allowed").await;
    assert!(!setup.root().join("forbidden").exists());
    let questions = std::fs::read_to_string(script.path("questions")).unwrap();
    let last: Value = serde_json::from_str(questions.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["tool"], &last["chat"]),
        (&json!("process_input"), &json!("a"))
    );
    assert_eq!(last["arguments"]["text"], "echo x > allowed\n");
}
