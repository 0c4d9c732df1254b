//! Agents that connect to a server.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{TOKEN, program};

/// Starts an agent that connects to the server at this address, with further arguments.
pub(crate) fn run(url: &str, name: &str, root: &Path, state: &Path, arguments: &[&str]) -> Child {
    let mut agent = command(root, state);
    let address = url.replace("http://", "ws://") + "/agents";
    agent.args(["--connect", &address, "--name", name]);
    agent.args(arguments).spawn().unwrap()
}

/// The program as an agent, which lacks where it listens or connects.
pub(crate) fn command(root: &Path, state: &Path) -> Command {
    let mut agent = Command::new(program());
    agent
        .args(["agent", "--sandbox-no-namespaces", "--log", "error"])
        .arg("--workspace")
        .arg(root)
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("XDG_STATE_HOME", state)
        .stdin(Stdio::null());
    agent
}

/// The agent `build`.
pub(crate) struct Agent {
    pub(crate) root: TempDir,
    process: Child,
    arguments: Vec<String>,
}

impl Agent {
    /// Starts the agent, which connects to a server.
    pub(crate) fn start(url: &str) -> Self {
        Self::start_with(url, &[])
    }

    /// The same, with further arguments.
    pub(crate) fn start_with(url: &str, arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let process = Self::run(&root, url, &arguments);
        Self {
            root,
            process,
            arguments,
        }
    }

    fn run(root: &TempDir, url: &str, further: &[String]) -> Child {
        let root = root.path();
        let mut arguments = vec!["--workspace-anyway"];
        arguments.extend(further.iter().map(String::as_str));
        run(url, "build", root, &root.join(".state"), &arguments)
    }

    /// Starts it again, so that it connects to this server.
    pub(crate) fn again(&mut self, url: &str) {
        self.process = Self::run(&self.root, url, &self.arguments);
    }

    pub(crate) fn end(&mut self) {
        _ = self.process.kill();
        self.process.wait().unwrap();
    }

    /// Waits until a line was written to a file of its workspace.
    pub(crate) async fn wrote(&self, file: &str) -> String {
        super::file(&self.root.path().join(file)).await
    }
}

impl Drop for Agent {
    /// A test that fails leaves no agent behind.
    fn drop(&mut self) {
        self.end();
    }
}
