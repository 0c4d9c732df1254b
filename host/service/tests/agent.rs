//! The program `toolhost-agent`, as a container runs it: options, variables, HTTP, a signal.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and starts the program"
)]

#[path = "agent/keep.rs"]
mod keep;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// The patience of a test with everything that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The token of the client, which the program gets in a variable.
const TOKEN: &str = "t0ken";

/// The program, which is killed with the test.
struct Agent {
    program: Child,
    url: String,
    client: reqwest::Client,
}

impl Agent {
    /// Starts the program in this workspace, with these arguments, and waits until it listens.
    fn start(workspace: &std::path::Path, arguments: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_toolhost-agent"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TOOLHOST_TOKEN", TOKEN)
            .env("TOOLHOST_LISTEN", "127.0.0.1:0")
            .args(["--workspace-anyway", "--workspace"])
            .arg(workspace)
            .arg("--state-dir")
            .arg(workspace.join(".state"))
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(program.stderr.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.split_once("listening on ")?.1.to_owned())
        });
        // The rest is read as well, so that the program never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let tls = toolhost_call::client::tls(rustls::RootCertStore::empty()).unwrap();
        let client = toolhost_call::client::builder(tls).timeout(PATIENCE);
        Self {
            program,
            url: url.expect("it does not listen"),
            client: client.build().unwrap(),
        }
    }

    async fn send(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(TOKEN);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Kills the program, as a crash or the kernel does.
    fn kill(mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }

    /// Starts a command.
    async fn run(&self, command: &str) -> String {
        let body = json!({ "command": command });
        let path = "/api/v0/processes/start";
        let (status, started) = self.send(reqwest::Method::POST, path, Some(body)).await;
        assert_eq!(status, 200, "{started}");
        started["id"].as_str().unwrap().to_owned()
    }

    /// Returns the output of a process, which is waited for if there is a query.
    async fn output(&self, id: &str, query: &str) -> Value {
        let path = format!("/api/v0/processes/{id}/output?{query}");
        let (status, output) = self.send(reqwest::Method::GET, &path, None).await;
        assert_eq!(status, 200, "{output}");
        output
    }

    /// Sends a signal to a process.
    async fn signal(&self, id: &str, signal: &str) {
        let body = json!({ "signal": signal });
        let path = format!("/api/v0/processes/{id}/signal");
        let (status, sent) = self.send(reqwest::Method::POST, &path, Some(body)).await;
        assert_eq!(status, 200, "{sent}");
    }

    /// Ends the program as a container's runtime does.
    fn stop(mut self) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.program.id()).unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
        self.program.wait().unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        _ = self.program.kill();
        _ = self.program.wait();
    }
}

#[tokio::test]
async fn it_runs_commands_and_ends_with_them() {
    let workspace = tempfile::tempdir().unwrap();
    let agent = Agent::start(workspace.path(), &[]);
    let (status, health) = agent.send(reqwest::Method::GET, "/healthz", None).await;
    assert_eq!((status, &health["status"]), (200, &json!("ok")));
    assert_ne!(health["containment"]["kind"], "process_group", "{health}");
    let start = |command: &str| {
        let body = json!({ "command": command });
        agent.send(reqwest::Method::POST, "/api/v0/processes/start", Some(body))
    };
    let (status, started) = start("echo hello").await;
    assert_eq!(status, 200, "{started}");
    let id = started["id"].as_str().unwrap();
    let output = format!("/api/v0/processes/{id}/output?wait=true");
    let (status, output) = agent.send(reqwest::Method::GET, &output, None).await;
    assert_eq!((status, &output["output"]), (200, &json!("hello\n")));
    let (_, survivor) = start("trap '' TERM; echo $$ > pid; sleep 1000").await;
    assert!(survivor["id"].is_string(), "{survivor}");
    assert!(agent.stop().success());
}

#[tokio::test]
async fn it_lets_nobody_write_who_may_only_read() {
    let workspace = tempfile::tempdir().unwrap();
    let agent = Agent::start(workspace.path(), &["--files", "read"]);
    let path = "/api/v0/write-file?path=/x";
    let (status, refused) = agent
        .send(reqwest::Method::POST, path, Some(json!({})))
        .await;
    assert_eq!(status, 403, "{refused}");
    assert!(agent.stop().success());
}

#[test]
fn what_it_does_not_know_is_a_failure_of_usage() {
    let refused = Command::new(env!("CARGO_BIN_EXE_toolhost-agent"))
        .args(["--plugin", "x.wasm"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("unexpected argument '--plugin'"), "{said}");
}
