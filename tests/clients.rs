//! Programs that use Toolhost as their authors would: the examples, and the official clients of MCP.
//!
//! Their SDKs for Python and Node.js are installed by `tests/clients/prepare`. Without them the tests are ignored.

/// The chats of `examples/chat`, over a connection that fails.
mod chat;
/// The plugin with the tools of MCP's conformance suite, and the suite itself.
mod conformance;
/// The example of `examples/embedding`.
mod embedding;
/// The formats of lists of tools.
mod formats;
/// Clients of MCP in frameworks for agents.
mod frameworks;
/// Clients that are generated from `/openapi.json`.
mod generated;
/// The official clients of MCP.
mod mcp;
/// The client for Python.
mod python;
/// The client for TypeScript.
pub(crate) mod typescript;
/// A proxy that loses replies.
mod unreliable;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use toolhost_needs::needs;

use crate::harness::serving::{Serving, server};
use crate::harness::{PATIENCE, TOKEN, until};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What `tests/clients/prepare` installs below this name, which a test says with `#[needs(client = …)]`.
pub(crate) fn prepared(name: &str) -> PathBuf {
    let directory = std::env::var_os("TOOLHOST_CLIENTS")
        .map_or_else(|| root().join("target/clients"), PathBuf::from);
    let path = directory.join(name);
    assert!(
        path.join("installed").exists(),
        "{} is not there; install it with `tests/clients/prepare {name}`",
        path.display()
    );
    path
}

/// A server in a workspace of its own, with further arguments.
fn serving(workspace: &Path, arguments: &[&str]) -> Serving {
    let mut command = server(workspace);
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.arg("serve").args(arguments);
    Serving::of(command)
}

/// A server with the tools of MCP's conformance suite, and the file of their plugin.
async fn with_conformance(workspace: &Path) -> (Serving, PathBuf) {
    let component = workspace.join("conformance.wasm");
    std::fs::write(&component, toolhost_guests::CONFORMANCE).unwrap();
    let serving = serving(workspace, &["--plugin", component.to_str().unwrap()]);
    // It listens before the plugin is compiled, if that takes long.
    let client = crate::harness::client();
    let url = format!("{}/v1/tools", serving.url);
    loop {
        let tools = client.get(&url).bearer_auth(TOKEN).send().await.unwrap();
        if tools.text().await.unwrap().contains("test_simple_text") {
            return (serving, component);
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// A program in an environment with nothing but a path.
pub(crate) fn clean(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A program that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A copy of the programs in a directory of the repository, beside the packages that they use.
pub(crate) fn scripts(modules: &Path, directory: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(modules, copy.path().join("node_modules")).unwrap();
    for file in std::fs::read_dir(root().join(directory)).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
    }
    copy
}

/// Starts a program that says first where it listens, and returns it with that address.
fn listening(mut command: Command) -> (Running, String) {
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut running = Running(child);
    let mut line = String::new();
    let stdout = running.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let url = line.trim_end().strip_prefix("listening on ");
    let url = url.unwrap_or_else(|| panic!("{command:?} said {line:?}"));
    (running, url.to_owned())
}

/// Runs a program to its end, and fails the test if there is none.
async fn run(command: Command) -> Output {
    let mut command = tokio::process::Command::from(command);
    command.stdin(Stdio::null()).kill_on_drop(true);
    // Node.js and Python take seconds to start on a machine with other things to do.
    tokio::time::timeout(4 * PATIENCE, command.output())
        .await
        .expect("the program does not end")
        .unwrap()
}

/// What a program printed that ended well.
fn printed(output: &Output) -> &str {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    std::str::from_utf8(&output.stdout).unwrap()
}
