//! The program, started from the command line as a server.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::{TOKEN, program, shared_code, until};

/// The program as a server, which has a state directory to itself.
pub(crate) fn server(workspace: &Path) -> Command {
    with_state(workspace, &workspace.join(".state"))
}

/// The program as a client of a running server, which has no workspace and keeps nothing. It shares compiled code with all others.
pub(crate) fn client() -> Command {
    let mut command = Command::new(program());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("XDG_CACHE_HOME", shared_code())
        // Commands tell tests the numbers of their processes.
        .env("TOOLHOST_SANDBOX_NO_NAMESPACES", "1");
    command
}

/// The program with this workspace and this state directory.
pub(crate) fn with_state(workspace: &Path, state: &Path) -> Command {
    let mut command = client();
    command
        .arg("--workspace")
        .arg(workspace)
        .arg("--state-dir")
        .arg(state);
    if state.starts_with(workspace) {
        command.arg("--workspace-anyway");
    }
    command
}

/// A server that was started from the command line.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) stderr: String,
    /// What it says after that.
    rest: Option<std::thread::JoinHandle<String>>,
    pub(crate) client: reqwest::Client,
}

impl Drop for Serving {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Serving {
    /// Starts `toolhost serve`.
    pub(crate) fn start(mut command: Command) -> Self {
        command.arg("serve");
        Self::of(command)
    }

    /// Starts a command line that lacks nothing but the address.
    pub(crate) fn of(command: Command) -> Self {
        Self::at(command, "127.0.0.1:0")
    }

    /// The same, with this address.
    pub(crate) fn at(mut command: Command, address: &str) -> Self {
        let mut child = command
            .args(["--listen", address])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut stderr = String::new();
        let url = loop {
            let line = lines.next();
            let Some(line) = line else {
                panic!("it does not listen, {:?}: {stderr}", child.wait());
            };
            let line = line.unwrap();
            stderr.push_str(&line);
            stderr.push('\n');
            let url = match serde_json::from_str::<Value>(&line) {
                Ok(line) => line["url"].as_str().map(str::to_owned),
                Err(_) => line.strip_prefix("listening on ").map(str::to_owned),
            };
            if let Some(url) = url {
                break url;
            }
        };
        let rest = std::thread::spawn(move || {
            let lines: Vec<_> = lines.map_while(Result::ok).collect();
            lines.join("\n")
        });
        Self {
            child,
            url,
            stderr,
            rest: Some(rest),
            client: super::client(),
        }
    }

    /// Starts a command line that lacks nothing but the address, whose log goes to a file. The second value waits until the log says
    /// something.
    pub(crate) async fn logged(mut command: Command, log: PathBuf) -> (Self, impl AsyncFn(&str)) {
        let file = std::fs::File::create(&log).unwrap();
        command.args(["--listen", "127.0.0.1:0"]).stderr(file);
        let child = command.spawn().unwrap();
        let url = until("it listens", || {
            let said = std::fs::read_to_string(&log).unwrap();
            let mut lines = said.lines();
            let url = lines.find_map(|line| line.strip_prefix("listening on "))?;
            Some(url.to_owned())
        })
        .await;
        let says = async move |what: &str| {
            until(what, || {
                let said = std::fs::read_to_string(&log).unwrap();
                said.contains(what).then_some(())
            })
            .await;
        };
        (Self::started(child, url), says)
    }

    /// A server that was started elsewhere, whose standard error goes elsewhere.
    pub(crate) fn started(child: Child, url: String) -> Self {
        Self {
            child,
            url,
            stderr: String::new(),
            rest: None,
            client: super::client(),
        }
    }

    /// A request with the token of tests.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.url);
        self.client.request(method, url).bearer_auth(TOKEN)
    }

    /// Returns what it said after it listened, once it has ended.
    pub(crate) fn rest(&mut self) -> String {
        self.rest.take().unwrap().join().unwrap()
    }

    /// Sends a signal, and waits for the end.
    pub(crate) fn signal(&mut self, signal: Signal) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(pid, signal).unwrap();
        self.child.wait().unwrap()
    }
}
