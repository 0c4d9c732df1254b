//! Requests and calls as an operator sees them: log lines, metrics and traces.

mod exposition;
mod lines;
mod metrics;
#[cfg(feature = "otel")]
mod otel;
#[cfg(feature = "otel")]
mod spans;
mod traces;

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::TOKEN;
use crate::harness::serving::{Serving, server};

/// The trace of a caller, and its id.
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A serving program whose log is read after its end.
struct Logged {
    serving: Serving,
    _workspace: tempfile::TempDir,
}

impl Logged {
    fn start(change: impl FnOnce(&mut Command)) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let mut command = server(workspace.path());
        command.arg("serve").env("TOOLHOST_TOKEN", TOKEN);
        change(&mut command);
        Self {
            serving: Serving::of(command),
            _workspace: workspace,
        }
    }

    /// Puts a call with these headers.
    async fn put(&self, call: &str, headers: &[(&str, &str)], body: &Value) -> reqwest::Response {
        let path = format!("/v1/chats/chat-1/calls/{call}");
        let mut request = self.serving.request(reqwest::Method::PUT, &path).json(body);
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
