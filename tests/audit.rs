//! The audit trail of real hosts: what is in it, what is not, and what a crash or a full disk leaves.

mod floods;
mod surfaces;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use toolhost_call::audit::{Audit, Config};
use toolhost_call::metrics::Metrics;
use toolhost_core::{Grants, Options, Settings};
use toolhost_http::access::{Principal, Token, Tokens};
use toolhost_needs::needs;
use toolhost_plugin::Limits;
use toolhost_server::ServerParts;
use toolhost_state::state_dir::StateDir;
use toolhost_workspace::files::FilesGrant;

use crate::guest::{component, guest, options};
use crate::harness::{self, Mounted, Server, Setup, TOKEN, call, request};

/// A directory for a trail, and the trail.
pub(crate) struct Trail {
    base: tempfile::TempDir,
    metrics: Metrics,
}

impl Trail {
    pub(crate) fn new() -> Self {
        Self {
            base: tempfile::tempdir().unwrap(),
            metrics: Metrics::default(),
        }
    }

    fn path(&self) -> PathBuf {
        self.base.path().join("audit")
    }

    pub(crate) fn open(&self, config: &Config) -> Audit {
        let directory = StateDir::open(&self.path()).unwrap();
        Audit::open(directory, config, &self.metrics).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        events(&self.path())
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path.join("audit.jsonl")).unwrap()
}

fn events(path: &Path) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    text(path).lines().map(parse).collect()
}

/// Asserts that the documentation has each event, and in its row each field.
pub(crate) fn documented(events: &[Value]) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/observability.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, text) = text.split_once("## The audit trail").unwrap();
    let named = |cell: &str, name: &str| cell.contains(&format!("`{name}`"));
    let row = |name: &str| {
        let mut rows = text.lines().filter(|line| line.starts_with("| `"));
        rows.find(|row| {
            row.split(" | ")
                .next()
                .is_some_and(|cell| named(cell, name))
        })
    };
    for event in events {
        let name = event["event"].as_str().unwrap();
        let row = row(name).unwrap_or_else(|| panic!("{name} is not documented"));
        for field in event.as_object().unwrap().keys() {
            let general = ["time", "event"].contains(&field.as_str());
            assert!(general || named(row, field), "{name} has a {field}: {row}");
        }
    }
}

/// The name of an event.
fn kind(event: &Value) -> &str {
    event["event"].as_str().unwrap()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(kind).collect()
}

fn of<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    let named = |event: &&Value| event["event"] == name;
    events.iter().filter(named).collect()
}

#[tokio::test]
async fn a_series_of_calls() {
    let trail = Trail::new();
    let audit = trail.open(&Config::default());
    let setup = Setup::with(|builder| {
        let settings = Settings {
            settings: [("region".to_owned(), "SETTING-VALUE".to_owned())].into(),
            secrets: [("key".to_owned(), "SECRET-VALUE".to_owned())].into(),
        };
        let limits = Limits {
            handles: 7,
            ..Limits::default()
        };
        let stranger = Options {
            settings,
            limits,
            ..options("stranger")
        };
        builder
            .audit(audit.clone())
            .metrics(trail.metrics.clone())
            .plugin(guest("well_behaved"), stranger)
    })
    .await;
    let command = "echo COMMAND-TEXT; export K=SECRET-VALUE; echo OUTPUT-TEXT";
    let execute = request("chat-1", "execute", &json!({ "command": command }));
    let write = request(
        "chat-2",
        "write_file",
        &json!({ "path": "a.txt", "content": "CONTENT-TEXT" }),
    );
    let escape = request("chat-2", "read_file", &json!({ "path": "/etc/hostname" }));
    let unsound = request("chat-1", "execute", &json!({ "nothing": "ARGUMENT-TEXT" }));
    let plain = request("chat-3", "t", &json!({}));
    for request in [&execute, &write, &escape, &unsound, &plain] {
        call(&setup.host, request.clone()).await.unwrap();
    }
    setup.host.shutdown().await;
    let events = trail.events();
    assert_eq!(
        names(&events),
        [
            "start",
            "plugin",
            "plugin",
            "plugin", // What follows is of the calls, in their order.
            "call_started",
            "process_start",
            "call", // execute
            "call_started",
            "file_write",
            "call", // write_file
            "call_started",
            "denied",
            "call", // read_file
            "call_started",
            "call", // without a command
            "call_started",
            "call",
            "stop", // the stranger
        ],
        "{events:#?}"
    );
    documented(&events);
    // The ids of a call are on each of its lines, and its plugin.
    let whose = [
        (4..7, &execute, "shell"),
        (7..10, &write, "files"),
        (10..13, &escape, "files"),
        (13..15, &unsound, "shell"),
        (15..17, &plain, "stranger"),
    ];
    for (range, request, plugin) in whose {
        for event in &events[range] {
            assert_eq!(event["principal"], "host", "{event}");
            assert_eq!(event["chat"], request.chat.as_str(), "{event}");
            assert_eq!(event["call"], request.id.as_str(), "{event}");
            assert_eq!(event["plugin"], plugin, "{event}");
        }
    }
    let hex = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    assert_eq!(events[5]["command"], hex(command.as_bytes()));
    assert_eq!(json!([events[5]["process"]]), events[6]["processes"]);
    let arguments = blake3::Hash::from_bytes(*execute.arguments.digest());
    assert_eq!(events[4]["arguments"], arguments.to_hex().as_str());
    assert_eq!(
        events[4]["arguments_size"],
        execute.arguments.as_str().len()
    );
    assert_eq!(events[8]["content"], hex(b"CONTENT-TEXT"));
    assert_eq!(
        (&events[8]["size"], &events[8]["certain"]),
        (&json!(12), &json!(true))
    );
    let written = setup.root().join("a.txt");
    assert_eq!(events[8]["path"], written.to_str().unwrap());
    assert_eq!(events[11]["capability"], "files");
    let outcomes: Vec<_> = of(&events, "call")
        .iter()
        .map(|event| event["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes[..2], ["ok", "ok"]);
    assert_eq!(outcomes[3..], ["invalid_arguments", "ok"]);
    for event in of(&events, "call") {
        assert!(event["memory"].as_u64().unwrap() >= 65_536, "{event}");
        assert!(event["duration_ms"].is_u64() && event["guest_time_ms"].is_u64());
        assert_eq!(event["left_out"], 0);
    }
    // The header says what was granted, and names of what was given.
    let stranger = &events[3];
    assert_eq!(stranger["plugin"], "stranger");
    assert_eq!(stranger["size"], guest("well_behaved").len());
    assert_eq!(stranger["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(stranger["limits"], json!({ "handles": 7 }));
    assert_eq!(stranger["settings"], json!(["region"]));
    assert_eq!(stranger["secrets"], json!(["key"]));
    assert_eq!(stranger["grants"]["files"], "write");
    let imports = events[1]["imports"].as_array().unwrap();
    assert!(imports.contains(&json!("toolhost:plugin/processes@0.1.0")));
    // Times are in order.
    let times: Vec<_> = events
        .iter()
        .map(|event| event["time"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted() && times.iter().all(|time| time.ends_with('Z')));
    // Nothing of what was said is in it, and nobody else can read it.
    let text = text(&trail.path());
    for secret in ["-TEXT", "-VALUE"] {
        assert!(!text.contains(secret), "{secret} is in\n{text}");
    }
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&trail.path().join("audit.jsonl")), 0o600);
    assert_eq!(mode(&trail.path()), 0o700);
}

/// Asks for a secret that it was not given: the one named "hello".
const SECRET_ASKER: &str = r#"
(import "toolhost:plugin/settings@0.1.0" "secret" (func $secret (param i32 i32 i32)))
(func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32)
  (call $secret (i32.const 336) (i32.const 5) (i32.const 2048))
  i32.const 288)"#;

#[tokio::test]
async fn denials_signals_and_failures() {
    let trail = Trail::new();
    let audit = trail.open(&Config::default());
    let setup = Setup::with(|builder| {
        builder
            .audit(audit.clone())
            .files(FilesGrant::Read)
            .plugin(guest("trap"), options("trap"))
            .plugin(
                component("curious", SECRET_ASKER.into()),
                options("curious"),
            )
    })
    .await;
    let write = json!({ "path": "x", "content": "y" });
    assert!(setup.outcome("write_file", write).await.is_error());
    assert!(setup.outcome("trap__t", json!({})).await.is_error());
    assert!(!setup.outcome("curious__t", json!({})).await.is_error());
    let started = setup
        .call(
            "execute",
            json!({ "command": "exec sleep 1000", "run_in_background": true }),
        )
        .await;
    let id = started["background_process_id"].as_str().unwrap();
    setup
        .call(
            "process_signal",
            json!({ "process_id": id, "signal": "kill" }),
        )
        .await;
    setup.host.shutdown().await;
    let events = trail.events();
    let denied: Vec<_> = of(&events, "denied")
        .iter()
        .map(|event| (event["plugin"].clone(), event["what"].clone()))
        .collect();
    assert_eq!(
        denied,
        [
            (json!("files"), json!("to write files")),
            (json!("curious"), json!("the secret \"hello\""))
        ]
    );
    let signal = of(&events, "process_signal")[0];
    assert_eq!(
        (&signal["process"], &signal["signal"]),
        (&json!(id), &json!("kill"))
    );
    let outcomes: Vec<_> = of(&events, "call")
        .iter()
        .map(|event| event["outcome"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes[1], "broken");
}

#[tokio::test]
async fn a_plugin_that_does_not_load() {
    let trail = Trail::new();
    let audit = trail.open(&Config::default());
    let workspace = tempfile::tempdir().unwrap();
    let plain = Options {
        grants: Grants::default(),
        ..options("curious")
    };
    let started = toolhost_core::Host::builder(workspace.path())
        .without_shell()
        .files(FilesGrant::None)
        .audit(audit.clone())
        .plugin(guest("process_user"), plain)
        .start();
    assert!(started.await.is_err());
    audit.record("plugin_removed", json!({ "plugin": "a" }));
    audit.record(
        "plugin_quarantined",
        json!({ "plugin": "d", "seconds": 30 }),
    );
    assert!(audit.finish() && audit.finish());
    let events = trail.events();
    assert_eq!(
        names(&events),
        [
            "start",
            "plugin_failed",
            "plugin_removed",
            "plugin_quarantined",
            "stop"
        ]
    );
    let error = events[1]["error"].as_str().unwrap();
    assert!(error.contains("toolhost:plugin/processes"), "{error}");
    assert_eq!(events[3]["seconds"], 30);
}

#[tokio::test]
async fn files_rotate_and_lose_nothing() {
    let trail = Trail::new();
    let config = Config {
        max_size: 1000,
        keep: 1000,
        ..Config::default()
    };
    let audit = trail.open(&config);
    let setup = Setup::with(|builder| {
        builder
            .without_shell()
            .files(FilesGrant::None)
            .audit(audit)
            .plugin(guest("well_behaved"), options("p"))
    })
    .await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        let request = request("chat", "t", &json!({}));
        ids.push(request.id.to_string());
        call(&setup.host, request).await.unwrap();
    }
    setup.host.shutdown().await;
    let files = std::fs::read_dir(trail.path()).unwrap().count() - 1;
    assert!(files > 10, "{files}");
    let mut text = String::new();
    for number in (1..files).rev() {
        let name = trail.path().join(format!("audit.jsonl.{number}"));
        text += &std::fs::read_to_string(name).unwrap();
    }
    text += &self::text(&trail.path());
    let ended: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "call")
        .map(|event| event["call"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ended, ids);
}

const PLACE: &str = "TOOLHOST_TEST_AUDIT";

#[tokio::test]
#[ignore = "not a test: the host that another test starts and kills"]
async fn host_to_be_killed() {
    let place = PathBuf::from(std::env::var_os(PLACE).unwrap());
    let directory = StateDir::open(&place.join("audit")).unwrap();
    let audit = Audit::open(directory, &Config::default(), &Metrics::default()).unwrap();
    let host = toolhost_core::Host::builder(place.join("workspace"))
        .state_dir(place.join("state"))
        .audit(audit)
        .start()
        .await
        .unwrap();
    let arguments = json!({ "command": "echo $$ > pid; exec sleep 1000", "timeout": "1h" });
    host.call(request("chat", "execute", &arguments))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_crash_leaves_a_trace_and_the_next_host_goes_on() {
    let trail = Trail::new();
    let place = trail.base.path();
    std::fs::create_dir(place.join("workspace")).unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "audit::host_to_be_killed", "--ignored"])
        .arg("--nocapture")
        .env(PLACE, place)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = harness::file(&place.join("workspace/pid")).await;
    // It is recorded once the shell has been started, which the file shows, but by another thread.
    harness::until("the start is recorded", || {
        text(&trail.path()).contains("process_start").then_some(())
    })
    .await;
    child.kill().unwrap();
    child.wait().unwrap();
    let events = trail.events();
    assert!(events.iter().any(|event| event["event"] == "call_started"));
    assert!(events.iter().all(|event| event["event"] != "call"));
    // As if it had died within a write.
    let file = trail.path().join("audit.jsonl");
    let before = text(&trail.path());
    std::fs::write(&file, format!("{before}{{\"time\":\"20")).unwrap();
    let audit = trail.open(&Config::default());
    assert!(audit.finish());
    let after = text(&trail.path());
    let new = after.strip_prefix(&before).unwrap();
    let lines: Vec<_> = new.lines().collect();
    assert_eq!(lines[0], "{\"time\":\"20");
    let event = |line: &str| serde_json::from_str::<Value>(line).unwrap()["event"].clone();
    assert_eq!(
        (event(lines[1]), event(lines[2])),
        (json!("start"), json!("stop"))
    );
    let pid: i32 = pid.trim().parse().unwrap();
    _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL);
}

#[needs(mount)]
#[tokio::test]
async fn a_full_disk_holds_nobody_up_and_the_gap_is_counted() {
    let trail = Trail::new();
    let place = trail.base.path().join("disk");
    std::fs::create_dir(&place).unwrap();
    let disk = Mounted::in_memory(&place, "size=1m");
    let place = place.join("audit");
    let directory = StateDir::open(&place).unwrap();
    let audit = Audit::open(directory, &Config::default(), &trail.metrics).unwrap();
    let setup = Setup::with(|builder| {
        builder
            .without_shell()
            .files(FilesGrant::None)
            .audit(audit.clone())
            .metrics(trail.metrics.clone())
            .plugin(guest("well_behaved"), options("p"))
    })
    .await;
    assert!(audit.finish());
    disk.fill();
    // The rest of the last page of the file takes a few more.
    for _ in 0..100 {
        assert!(!setup.outcome("t", json!({})).await.is_error());
    }
    assert!(!audit.finish(), "it is known that something is missing");
    disk.empty();
    assert!(!setup.outcome("t", json!({})).await.is_error());
    setup.host.shutdown().await;
    assert!(audit.finish());
    let text = text(&place);
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let lost: u64 = of(&events, "lost")
        .iter()
        .map(|event| event["count"].as_u64().unwrap())
        .sum();
    let there = of(&events, "call").len() + of(&events, "call_started").len();
    assert!(lost > 0, "{text}");
    assert_eq!(there as u64 + lost, 202, "{text}");
    let counted = format!("toolhost_audit_lines_lost_total {lost}\n");
    assert!(trail.metrics.text().contains(&counted));
    assert_eq!(events.last().unwrap()["event"], "call");
}
