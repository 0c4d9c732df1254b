//! What an operator sees of requests and calls: log lines, metrics and traces.

mod exposition;
mod lines;
mod metrics;
#[cfg(feature = "otel")]
mod otel;
mod traces;

use std::process::Command;

use serde_json::{Value, json};

use crate::cli::{Serving, server};
use crate::harness::{PATIENCE, TOKEN};

/// The trace of a caller, and its id.
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A program that serves, with a client.
struct Program {
    serving: Serving,
    client: reqwest::Client,
    _workspace: tempfile::TempDir,
}

impl Program {
    fn start(change: impl FnOnce(&mut Command)) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let mut command = server(workspace.path());
        command.arg("serve").env("TOOLHOST_TOKEN", TOKEN);
        change(&mut command);
        let client = crate::harness::http_client()
            .timeout(PATIENCE)
            .build()
            .unwrap();
        Self {
            serving: Serving::of(command),
            client,
            _workspace: workspace,
        }
    }

    /// Puts a call with these headers.
    async fn put(&self, call: &str, headers: &[(&str, &str)], body: &Value) -> reqwest::Response {
        let url = format!("{}/v1/chats/chat-1/calls/{call}", self.serving.url);
        let mut request = self.client.put(url).bearer_auth(TOKEN).json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }

    /// Ends it, and returns all that it wrote to standard error.
    fn stop(mut self) -> String {
        self.serving.signal(nix::sys::signal::Signal::SIGTERM);
        let rest = self.serving.rest();
        format!("{}{rest}", self.serving.stderr)
    }
}

fn execute(command: &str) -> Value {
    json!({ "tool": "execute", "arguments": { "command": command } })
}
