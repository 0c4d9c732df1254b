//! A host that is a program of its own, to be killed.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::bench::Mode;
use super::survivors::{kill_one, pids};
use crate::harness::{PATIENCE, TOKEN, program, until, with_code};

/// `toolhost serve`, with a workspace and a state directory of its own.
pub(super) struct Program {
    child: Mutex<Child>,
    url: String,
    pub(super) workspace: tempfile::TempDir,
    _state: tempfile::TempDir,
}

impl Drop for Program {
    /// A test that fails leaves no host behind.
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        _ = child.kill();
        _ = child.wait();
    }
}

/// What a host is started with, if it is not the usual.
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) env: Vec<(&'static str, String)>,
    /// As whom it runs, who owns its directories then.
    pub(super) owner: Option<u32>,
    /// Whether commands have cgroups where that is possible.
    pub(super) cgroup: bool,
}

impl Program {
    pub(super) async fn serve(mode: Mode) -> Self {
        let start = Start {
            program: program().to_path_buf(),
            env: Vec::new(),
            owner: None,
            cgroup: mode == Mode::Cgroup,
        };
        Self::start_as(start).await
    }

    pub(super) async fn start_as(start: Start) -> Self {
        let directory = || {
            let directory = tempfile::tempdir().unwrap();
            if start.owner.is_some() {
                std::os::unix::fs::chown(directory.path(), start.owner, start.owner).unwrap();
            }
            directory
        };
        let (workspace, state) = (directory(), directory());
        let mut command = Command::new(&start.program);
        if let Some(owner) = start.owner {
            command.uid(owner).gid(owner);
        }
        command
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--max-live", "1000"])
            .args((!start.cgroup).then_some("--no-cgroup"))
            .args([OsStr::new("--workspace"), workspace.path().as_os_str()])
            .args([
                OsStr::new("--state-dir"),
                with_code(state.path().join("state"), start.owner).as_os_str(),
            ])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TOOLHOST_TOKEN", TOKEN)
            .env("TOOLHOST_SANDBOX", "off")
            .envs(start.env)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        // It blocks until the host says where it listens; what it says after that is read, so that it can be written.
        let (sender, url) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let mut said = Vec::new();
            let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
            for line in lines.by_ref() {
                if let Some(url) = line.strip_prefix("listening on ") {
                    _ = sender.send(Ok(url.to_owned()));
                    lines.for_each(drop);
                    return;
                }
                said.push(line);
            }
            _ = sender.send(Err(said.join("\n")));
        });
        // From here on it is ended whatever happens.
        let mut program = Self {
            child: Mutex::new(child),
            url: String::new(),
            workspace,
            _state: state,
        };
        let url = tokio::time::timeout(PATIENCE, url).await;
        let url = url.expect("it does not start").unwrap();
        program.url = url.unwrap_or_else(|said| panic!("it does not start: {said}"));
        program
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    /// Starts a command in the background.
    pub(super) async fn start(&self, text: &str) -> Value {
        self.execute(json!({ "command": text, "run_in_background": true }))
            .await
    }

    /// Runs a command in the foreground and returns its output.
    pub(super) async fn run(&self, text: &str) -> String {
        let reply = self.execute(json!({ "command": text, "timeout": "60s" }));
        reply.await["output"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    async fn execute(&self, arguments: Value) -> Value {
        static CALLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let call = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let client = crate::harness::http_client().timeout(PATIENCE);
        let request = client
            .build()
            .unwrap()
            .put(format!("{}/v1/chats/a/calls/{call}", self.url))
            .bearer_auth(TOKEN)
            .json(&json!({ "tool": "execute", "arguments": arguments }));
        let response = request.send().await.unwrap();
        let status = response.status();
        let body: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{body}");
        let reply = &body["structured"];
        assert!(reply.is_object(), "{body}");
        reply.clone()
    }

    /// The spawner: the one child of the host that is named so.
    pub(super) fn spawner(&self) -> u32 {
        let host = self.pid();
        let is_spawner = |pid: &u32| parent(*pid) == Some(host) && is_toolhost_spawner(*pid);
        pids()
            .into_iter()
            .find(is_spawner)
            .expect("it has a spawner")
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_one(self.pid(), signal);
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&self) {
        until("the host has ended", || {
            self.child.lock().unwrap().try_wait().unwrap()
        })
        .await;
    }
}

fn is_toolhost_spawner(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == b"toolhost\0spawner\0")
}

pub(super) fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}
