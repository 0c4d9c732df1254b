//! What runs on a server at this moment, in all chats.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Events, Filter, Process, Refusal, Server};

/// How long the server is left alone between two looks, if it has no stream of snapshots.
const PAUSE: Duration = Duration::from_secs(1);

/// The most calls of one look.
const CALLS: usize = 500;

/// The calls and processes that run.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::cli) struct Snapshot {
    pub(in crate::cli) at_unix_ms: u64,
    pub(in crate::cli) calls: Vec<RunningCall>,
    pub(in crate::cli) processes: Vec<Process>,
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
    source: Source,
}

enum Source {
    /// Nothing was asked yet, or the stream was cut.
    Closed,
    Stream(Events),
    /// The server has no stream: it is asked again and again.
    Looks,
}

impl Now {
    pub(in crate::cli) fn new(server: Arc<Server>) -> Self {
        let source = Source::Closed;
        Self { server, source }
    }

    /// Returns the next snapshot, as the server describes it. After an error, it can be called again.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or refuses.
    pub(in crate::cli) async fn next(&mut self) -> anyhow::Result<Value> {
        loop {
            match &mut self.source {
                Source::Closed => {
                    let url = self.server.place.url(&["v1", "events"]);
                    match self.server.stream(url).await {
                        Ok(events) => self.source = Source::Stream(events),
                        Err(error) if is_missing(&error) => {
                            self.source = Source::Looks;
                            return self.look().await;
                        }
                        Err(error) => return Err(error),
                    }
                }
                Source::Stream(events) => match events.next().await {
                    Ok(Some(heard)) if heard.name == "now" => return Ok(heard.into_data()),
                    Ok(Some(_)) => {}
                    // Each snapshot is whole: a new stream goes on with the next one.
                    Ok(None) => {
                        self.source = Source::Closed;
                        sleep(PAUSE).await;
                    }
                    Err(error) => {
                        self.source = Source::Closed;
                        return Err(error);
                    }
                },
                Source::Looks => {
                    sleep(PAUSE).await;
                    return self.look().await;
                }
            }
        }
    }

    async fn look(&self) -> anyhow::Result<Value> {
        let processes = self.server.processes(None, true).await?;
        let processes: Vec<_> = processes.into_iter().map(|one| one.value).collect();
        let filter = Filter {
            running: true,
            ..Filter::default()
        };
        let calls = self.server.calls(&filter, CALLS, None).await?.calls;
        let now = crate::cli::table::now_ms();
        let calls: Vec<_> = calls
            .into_iter()
            .map(|call| {
                json!({
                    "chat": call.chat, "id": call.id, "tool": call.tool, "state": "running", "token": call.token,
                    "running_ms": now.saturating_sub(call.began_at_unix_ms),
                })
            })
            .collect();
        Ok(json!({ "at_unix_ms": now, "calls": calls, "processes": processes }))
    }
}

/// Returns whether the server does not know the address.
fn is_missing(error: &anyhow::Error) -> bool {
    Refusal::within(error).is_some_and(|refusal| refusal.status == StatusCode::NOT_FOUND)
}

impl Snapshot {
    /// Reads a snapshot.
    pub(in crate::cli) fn read(value: &Value) -> anyhow::Result<Self> {
        Self::deserialize(value).context("the server's answer does not say what runs")
    }
}
