//! `GET /{id}/events`: the output of a process as it comes, and its end, as server-sent events.
//!
//! Nothing is queued for a reader: each event is read where the last one ended, when the connection takes it. A slow reader
//! therefore delays no process and no other reader, and learns exactly which bytes it missed.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event;
use serde::Serialize;
use serde_json::json;

use super::chat::Chat;
use super::error::ApiError;
use super::page::{Gap, Page};
use super::process_id::{Found, ProcessId};
use super::process_status::ProcessStatus;
use super::query::{ANY, Query};
use super::reply;
use toolhost_http::event_stream::{self, Source, last_event};
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{State as ProcessState, WaitOptions};

/// The most bytes of output in an event.
const EVENT_BYTES: usize = 32 << 10;

/// The longest single wait for something new.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

pub(super) async fn events(
    State(workspace): State<Arc<dyn Workspace>>,
    chat: Chat,
    id: ProcessId,
    mut query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Found { owner, info } = id.find(&*workspace, &chat).await?;
    let since = match last_event(&headers) {
        Some(id) => id.parse().map_err(|_| {
            ApiError::invalid("Last-Event-ID", "Last-Event-ID is not the id of an event.")
        })?,
        None => query.number("since", ANY).unwrap_or(0),
    };
    query.finish()?;
    if info.expired {
        let status = ProcessStatus::from(&info.state);
        return Err(ApiError::gone(&info.id, status));
    }
    let follower = Follower {
        workspace,
        owner,
        id: info.id,
        cursor: since,
        exited_at: None,
        told: Completion::Nothing,
    };
    Ok(event_stream::reply(follower, ()))
}

/// The last event about the end of the process that a reader got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completion {
    Nothing,
    /// The event `exit`.
    Exit,
    /// The event `end`.
    End,
}

/// The data of the event `exit`.
#[derive(Debug, Serialize)]
struct Exit {
    #[serde(flatten)]
    status: ProcessStatus,
    total_bytes: u64,
}

/// One reader.
struct Follower {
    workspace: Arc<dyn Workspace>,
    owner: Option<ChatId>,
    id: String,
    /// The cursor past the output that the reader got.
    cursor: u64,
    /// The bytes of output when the shell was first seen to have exited.
    exited_at: Option<u64>,
    told: Completion,
}

impl Source for Follower {
    async fn next(&mut self) -> Option<Event> {
        if self.told == Completion::End {
            return None;
        }
        loop {
            let (owner, id) = (self.owner.as_ref(), self.id.as_str());
            // Read the state before the output, so that the output of an ended process is complete. An error ends the stream:
            // the process is no longer known, or the workspace cannot be reached.
            let state = self.workspace.info(owner, id).await.ok()?.state;
            let chunk = self.workspace.read(owner, id, self.cursor, EVENT_BYTES);
            let chunk = chunk.await.ok()?;
            if let Some(gap) = Gap::before(self.cursor, &chunk) {
                self.cursor = gap.to;
                return Some(self.event("gap", &gap));
            }
            // A cursor past the end, which no event has, becomes the end.
            self.cursor = chunk.offset;
            let page = Page::of(&chunk, state.is_live());
            let has_exited = state != ProcessState::Running;
            if has_exited && self.told == Completion::Nothing {
                let exited_at = *self.exited_at.get_or_insert(chunk.total);
                // The output of survivors must not delay the exit event for ever.
                if self.cursor >= exited_at || page.cursor == self.cursor {
                    self.told = Completion::Exit;
                    let exit = Exit {
                        status: ProcessStatus::from(&state),
                        total_bytes: chunk.total,
                    };
                    return Some(self.event("exit", &exit));
                }
            }
            if page.cursor > self.cursor {
                self.cursor = page.cursor;
                let data =
                    json!({ "offset": chunk.offset, "data": page.text, "total": chunk.total });
                return Some(self.event("output", &data));
            }
            if self.told == Completion::Exit && (chunk.end || !state.is_live()) {
                self.told = Completion::End;
                return Some(self.event("end", &json!({ "total": chunk.total })));
            }
            self.changed(&state, chunk.total).await?;
        }
    }
}

impl Follower {
    /// Waits for output past the `total` that was read, or for the end of a shell that runs; `None` if the process is no longer
    /// known.
    async fn changed(&self, state: &ProcessState, total: u64) -> Option<()> {
        let (owner, id) = (self.owner.as_ref(), self.id.as_str());
        let end = WaitOptions {
            timeout: LONGEST_WAIT,
            since: total,
            ..WaitOptions::default()
        };
        let output = WaitOptions {
            output: true,
            ..end.clone()
        };
        let output = self.workspace.wait(owner, id, output);
        let waited = if *state == ProcessState::Running {
            tokio::select! {
                waited = output => waited,
                waited = self.workspace.wait(owner, id, end) => waited,
            }
        } else {
            output.await
        };
        waited.is_ok().then_some(())
    }

    /// Makes an event from which a reader can resume.
    fn event(&self, name: &str, data: &impl Serialize) -> Event {
        Event::default()
            .event(name)
            .id(self.cursor.to_string())
            .data(reply::to_text(data))
    }
}
