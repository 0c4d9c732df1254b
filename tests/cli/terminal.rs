//! The commands for people: on a terminal, as pipes, and the server that they find.

mod attach;
mod calling;
mod examples;
mod finding;
mod json;
mod processes;
mod recording;
mod scripts;
mod top;

use tempfile::TempDir;

use super::*;
use crate::harness::terminal::Terminal;

/// A server, and clients that find it by its state directory.
pub(super) struct Site {
    pub(super) serving: Serving,
    pub(super) workspace: TempDir,
}

impl Site {
    fn new() -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let mut command = server(workspace.path());
        command.env("TOOLHOST_TOKEN", TOKEN);
        let serving = Serving::start(command);
        Self { serving, workspace }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.workspace.path().join(name)
    }

    /// A command line without any variable but that of the state directory.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = client();
        command
            .env("TOOLHOST_STATE_DIR", self.path(".state"))
            .env("TOOLHOST_WORKSPACE_ANYWAY", "1")
            .current_dir(self.workspace.path())
            .args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The standard output of a command line that does not fail.
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    }

    /// The same on a terminal.
    async fn shown(&self, arguments: &[&str]) -> String {
        let terminal = Terminal::start(&self.command(arguments), 80, 24);
        let (status, screen, _) = terminal.ended().await;
        assert_eq!(status.code(), Some(0), "{screen}");
        screen
    }

    /// Starts a background process, and returns its id.
    async fn process(&self, chat: &str, command: &str) -> String {
        self.process_with(chat, command, "keep_input_open").await
    }

    /// Starts a background process with this argument of `execute` set, and returns its id.
    async fn process_with(&self, chat: &str, command: &str, set: &str) -> String {
        let path = format!("/v1/chats/{chat}/calls");
        let arguments = json!({ "command": command, "run_in_background": true, set: true });
        let body = json!({ "tool": "execute", "arguments": arguments });
        let request = self
            .serving
            .request(reqwest::Method::POST, &path)
            .json(&body);
        let reply: Value = request.send().await.unwrap().json().await.unwrap();
        reply["processes"][0].as_str().unwrap().to_owned()
    }

    /// Starts a call that runs until it is told to end, and returns when its command runs.
    async fn call(&self, chat: &str, id: &str, command: &str) -> tokio::task::JoinHandle<Value> {
        let path = format!("/v1/chats/{chat}/calls/{id}");
        let mark = format!("runs-{chat}-{id}");
        let command = format!("echo > {mark}; {command}");
        let body =
            json!({ "tool": "execute", "arguments": { "command": command, "timeout": "1h" } });
        let request = self
            .serving
            .request(reqwest::Method::PUT, &path)
            .json(&body);
        let call = tokio::spawn(async { request.send().await.unwrap().json().await.unwrap() });
        file(&self.path(&mark)).await;
        call
    }

    /// Waits until a process has written so many bytes.
    async fn until_written(&self, id: &str, bytes: u64) {
        let written = || {
            let all = self.said(&["ps", "--all", "--json"]);
            let mut all = all
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let process = all.find(|process| process["id"] == id)?;
            (process["total_bytes"].as_u64()? >= bytes).then_some(())
        };
        until("the process writes", written).await;
    }
}

/// Replaces what differs from run to run: ids, times, and the widths of columns.
fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, mask) in [
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "ID",
        ),
        (r"[0-9a-f]{8}-[0-9a-f]{3}", "ID"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"),
        (r"\b\d+[smhd] ago", "AGO"),
        (r"\b(\d+h\d\dm|\d+m\d\ds|\d+\.\ds|\d+ms)", "SPAN"),
        (r"\b\d+(\.\d)? ([KMG]i)?B\b", "SIZE"),
        (r"  +", "  "),
        (r"(?m) +$", ""),
    ] {
        text = regex::Regex::new(pattern)
            .unwrap()
            .replace_all(&text, mask)
            .into_owned();
    }
    text.trim_end().to_owned()
}
