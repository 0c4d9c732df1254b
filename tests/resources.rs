//! The resources that a host takes of its machine and leaves to commands: memory, descriptors, and the programs there.

mod descriptors;
mod memory;
mod programs;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_core::CallId;

use crate::harness::{PATIENCE, TOKEN, program, state_dir, with_code};

/// A host in a process of its own, so that nothing but it is measured.
pub(crate) struct Measured {
    pub(crate) child: Child,
    url: String,
    client: reqwest::Client,
    pub(crate) workspace: Option<tempfile::TempDir>,
    /// So that it never waits for a reader of its log.
    _log: std::thread::JoinHandle<()>,
}

impl Measured {
    pub(crate) fn start() -> Self {
        // A host may keep its records there, which takes it for itself.
        let state = with_code(state_dir().join(CallId::random().to_string()), None);
        Self::start_in(tempfile::tempdir().unwrap(), &state)
    }

    pub(crate) fn start_in(workspace: tempfile::TempDir, state: &Path) -> Self {
        let mut child = std::process::Command::new(program())
            .env("TOOLHOST_TOKEN", TOKEN)
            .arg("--workspace")
            .arg(workspace.path())
            .arg("--state-dir")
            .arg(state)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            let line = line.unwrap();
            line.strip_prefix("listening on ").map(str::to_owned)
        });
        let log = std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self {
            child,
            url: url.expect("it says where it listens"),
            client: crate::harness::http_client()
                .timeout(PATIENCE * 5)
                .build()
                .unwrap(),
            workspace: Some(workspace),
            _log: log,
        }
    }

    /// Calls a tool and returns its structured reply.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let path = format!("{}/v1/chats/measured/calls/{}", self.url, CallId::random());
        let body = json!({ "tool": tool, "arguments": arguments });
        let request = self.client.put(path).bearer_auth(TOKEN).json(&body);
        let reply: Value = request.send().await.unwrap().json().await.unwrap();
        let structured = &reply["structured"];
        assert!(structured.is_object(), "{reply}");
        structured.clone()
    }

    /// Calls a tool of a host that may be killed meanwhile. Returns whether it replied.
    pub(crate) async fn try_call(&self, tool: &str, arguments: Value) -> bool {
        let path = format!("{}/v1/chats/measured/calls/{}", self.url, CallId::random());
        let body = json!({ "tool": tool, "arguments": arguments });
        let request = self.client.put(path).bearer_auth(TOKEN).json(&body);
        match request.send().await {
            Ok(response) => response.json::<Value>().await.is_ok(),
            Err(_) => false,
        }
    }

    /// Starts a command in the background and waits for its end.
    async fn run_in_background(&self, command: &str) -> Value {
        let started = self
            .call(
                "execute",
                json!({ "command": command, "run_in_background": true }),
            )
            .await;
        let id = started["background_process_id"]
            .as_str()
            .unwrap()
            .to_owned();
        loop {
            let arguments = json!({ "process_id": id, "wait_timeout": "60s" });
            let reply = self.call("process_output", arguments).await;
            if reply["status"] != "running" {
                return reply;
            }
        }
    }

    fn proc(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.child.id())
    }

    /// A value of its status, in KiB.
    fn status(&self, name: &str) -> i64 {
        let text = std::fs::read_to_string(self.proc("status")).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    }
}

impl Drop for Measured {
    /// As it should end, so that it takes its commands with it.
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let begun = std::time::Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
