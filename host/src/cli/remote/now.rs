//! Running calls and processes of a server, in all chats.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use super::{Events, Process, Server};

/// How long the server is left alone after it has ended the stream.
const PAUSE: Duration = Duration::from_secs(1);

/// The calls and processes that run.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::cli) struct Snapshot {
    pub(in crate::cli) at_unix_ms: u64,
    pub(in crate::cli) calls: Vec<RunningCall>,
    pub(in crate::cli) processes: Vec<Process>,
    /// The workspaces whose agents do not answer.
    #[serde(default)]
    pub(in crate::cli) unanswered: Vec<String>,
}

/// A call that runs, or waits for a place.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::cli) struct RunningCall {
    pub(in crate::cli) chat: String,
    pub(in crate::cli) id: String,
    pub(in crate::cli) tool: String,
    pub(in crate::cli) state: String,
    #[serde(default)]
    pub(in crate::cli) running_ms: u64,
}

/// A follower of what runs.
pub(in crate::cli) struct Now {
    server: Arc<Server>,
    /// The stream; `None` before the first question, and after the stream was cut.
    events: Option<Events>,
}

impl Now {
    pub(in crate::cli) fn new(server: Arc<Server>) -> Self {
        let events = None;
        Self { server, events }
    }

    /// Returns the next snapshot, as the server describes it. After an error, it can be called again.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or refuses.
    pub(in crate::cli) async fn next(&mut self) -> anyhow::Result<Value> {
        loop {
            let Some(events) = &mut self.events else {
                let url = self.server.place.url(&["v1", "events"]);
                self.events = Some(self.server.stream(url).await?);
                continue;
            };
            match events.next().await {
                Ok(Some(heard)) if heard.name == "now" => return Ok(heard.into_data()),
                Ok(Some(_)) => {}
                // Each snapshot is whole: a new stream goes on with the next one.
                Ok(None) => {
                    self.events = None;
                    sleep(PAUSE).await;
                }
                Err(error) => {
                    self.events = None;
                    return Err(error);
                }
            }
        }
    }
}

impl Snapshot {
    /// Reads a snapshot.
    pub(in crate::cli) fn read(value: &Value) -> anyhow::Result<Self> {
        Self::deserialize(value).context("the server's answer does not say what runs")
    }
}
