//! The agent API over real sockets and real processes. Tests that are named after a row of the reference's own tests
//! (`spec/process-api.md`, 1.9, and `spec/file-tools.md`, 4.2 to 4.4) expect what that row expects; the others are about
//! what is ours.
//!
//! Rows without a test here, because what they are about is not: the hook `updateEnv` (replaced by `--env`, see
//! `program`), the git watcher, the programs `agentexec`, and the home directory as a default (replaced by the workspace,
//! see `start`).

mod access;
mod events;
mod files;
mod lifecycle;
mod list;
mod openapi;
mod output;
mod pages;
mod program;
mod signal;
mod start;
mod tool_calls;

use std::path::PathBuf;
use std::sync::Arc;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use toolhost_agent::{Offer, Oversight};
use toolhost_call::call::{Ledger, Limits};
use toolhost_local::Local;
use toolhost_local::files::Config as Roots;
use toolhost_local::process::{Config, Registry};
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::{AllQuery, Signal};

use crate::harness::Server;
use crate::harness::processes::temporary;

const A: &str = "11111111-2222-4333-8444-555555555555";
const B: &str = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

/// An id that no process has.
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A server of the agent API in a workspace of its own.
struct Agent {
    registry: Arc<Registry>,
    local: Arc<Local>,
    server: Server,
    workspace: tempfile::TempDir,
}

/// How many calls of a chat can be cancelled before they arrive.
const TOMBSTONES: usize = 8;

/// All that a workspace has, for clients of the agent API.
fn offer(local: &Arc<Local>) -> Offer {
    let limits = Limits {
        tombstones_per_chat: TOMBSTONES,
        ..Limits::default()
    };
    Offer {
        workspace: local.clone(),
        files: FilesGrant::Write,
        remembers_starts: false,
        ledger: Ledger::new(limits).unwrap(),
        oversight: Oversight::default(),
    }
}

impl Agent {
    async fn new() -> Self {
        Self::with(|config| config).await
    }

    /// One whose processes run with something else than the defaults.
    async fn with(change: impl FnOnce(Config) -> Config) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        let (config, roots) = (change(Config::new(root)), Roots::new(workspace.path()));
        let local = Local::open(config, roots, &temporary()).await;
        let local = Arc::new(local.unwrap());
        Self {
            server: Server::agent(offer(&local)).await,
            registry: Arc::clone(local.processes()),
            local,
            workspace,
        }
    }

    /// The workspace as commands see it.
    fn root(&self) -> PathBuf {
        self.workspace.path().canonicalize().unwrap()
    }

    /// Begins a request below `/api/v0/processes`.
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let path = format!("/api/v0/processes{path}");
        self.server.request(method, &path)
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.request(Method::POST, path).body(body.to_string())
    }

    /// Starts a command for no chat and returns its id.
    async fn start(&self, command: &str) -> String {
        started(self.post("/start", &json!({ "command": command }))).await
    }

    /// Starts a command for a chat and returns its id.
    async fn start_for(&self, chat: &str, command: &str) -> String {
        let request = self.post("/start", &json!({ "command": command }));
        started(request.header("Coder-Chat-Id", chat)).await
    }

    async fn output(&self, id: &str) -> Value {
        ok(self.get(&format!("/{id}/output"))).await
    }

    /// Waits for the end of a process and returns its output.
    async fn wait(&self, id: &str) -> Value {
        ok(self.get(&format!("/{id}/output?wait=true"))).await
    }

    /// Runs a command to its end.
    async fn run(&self, command: &str) -> (String, Value) {
        let id = self.start(command).await;
        let output = self.wait(&id).await;
        (id, output)
    }

    async fn list(&self) -> Vec<Value> {
        processes(self.get("/list")).await
    }

    /// Makes a FIFO of this name. What reads from it waits until somebody writes.
    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.root().join(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        path
    }
}

impl Drop for Agent {
    /// A test leaves nothing behind that runs.
    fn drop(&mut self) {
        let live = self.registry.list_all(&AllQuery {
            running_only: true,
            max: usize::MAX,
            ..AllQuery::default()
        });
        let found = live
            .processes
            .iter()
            .filter_map(|one| self.registry.find(&one.info.id).ok());
        for process in found {
            let (chat, id) = (process.chat(), process.id());
            _ = self.registry.signal(chat, id, Signal::Kill, None);
        }
    }
}

/// Writes to a FIFO, once somebody reads from it.
async fn tell(fifo: PathBuf, text: &'static str) {
    let write = move || std::fs::write(fifo, text).unwrap();
    tokio::task::spawn_blocking(write).await.unwrap();
}

/// Sends a request and returns status and body.
async fn reply(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let kind = response.headers()["content-type"].clone();
    assert_eq!(kind, "application/json; charset=utf-8");
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Sends a request that succeeds and returns the body.
async fn ok(request: RequestBuilder) -> Value {
    let (status, body) = reply(request).await;
    assert_eq!(status, 200, "{body}");
    body
}

async fn started(request: RequestBuilder) -> String {
    let body = ok(request).await;
    assert_eq!(body["started"], true);
    let id = body["id"].as_str().unwrap();
    assert!(!id.is_empty());
    id.to_owned()
}

async fn processes(request: RequestBuilder) -> Vec<Value> {
    let body = ok(request).await;
    body["processes"].as_array().expect("never null").clone()
}

/// Checks that a request is refused with this status and a message or detail that contains the text.
async fn refused(request: RequestBuilder, status: u16, text: &str) -> Value {
    let (got, body) = reply(request).await;
    assert_eq!(got, status, "{body}");
    assert!(body["message"].as_str().unwrap().contains(text), "{body}");
    body
}
