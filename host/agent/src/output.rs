//! `GET /{id}/output`: state and output of a process, at once or after a wait.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use toolhost_view::Windows;
use toolhost_view::reference::{Sizes, render};

use super::chat::Chat;
use super::error::ApiError;
use super::page::{Gap, Page};
use super::process_id::{Found, ProcessId};
use super::process_status::ProcessStatus;
use super::query::{ANY, Query};
use super::reply;
use toolhost_http::process_values::{SavedStatus, Survivor};
use toolhost_http::time::milliseconds;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{
    Cause, Chunk, Error, Info, Snapshot, State as ProcessState, WaitOptions,
};

/// The longest wait of one request.
const MAX_WAIT: Duration = Duration::from_secs(5 * 60);

/// The default, the largest and the smallest size of a page, in bytes. The smallest has room for any character.
const PAGE_BYTES: u64 = 64 << 10;
const MAX_PAGE_BYTES: u64 = 4 << 20;
const MIN_PAGE_BYTES: u64 = 4;

/// The query parameters of a request.
struct Options {
    wait: Option<WaitOptions>,
    /// Whether the wait ends with the `timeout_ms` of the start.
    stop_at_start_timeout: bool,
    since: Option<u64>,
    max_bytes: usize,
}

/// The response body. The fields of the reference come first, in its order.
#[derive(Debug, Serialize)]
struct Output<'a> {
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncated>,
    #[serde(flatten)]
    status: ProcessStatus,
    /// Whether the shell runs for longer than the `timeout_ms` of its start.
    timed_out: bool,
    /// Whether the shell was ended by a cancellation of its tool call.
    canceled: bool,
    /// The time that the shell ran, or has run so far.
    duration_ms: u64,
    command: &'a str,
    /// The number of bytes that the process has written so far.
    total_bytes: u64,
    /// The cursor at which the next page begins.
    cursor: u64,
    /// The bytes before the page that are no longer kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    /// Whether the expression that was waited for matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<bool>,
    /// The cursor past the match.
    #[serde(skip_serializing_if = "Option::is_none")]
    match_end: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    survivors: Vec<Survivor>,
    saved: SavedStatus,
}

/// The bytes that the rendering of an output leaves out.
#[derive(Debug, Serialize)]
struct Truncated {
    original_bytes: u64,
    retained_bytes: u64,
    omitted_bytes: u64,
    strategy: &'static str,
    clipped_lines: u64,
}

pub(super) async fn output(
    State(workspace): State<Arc<dyn Workspace>>,
    chat: Chat,
    id: ProcessId,
    mut query: Query,
) -> Result<Response, ApiError> {
    let Found { owner, info } = id.find(&*workspace, &chat).await?;
    let (owner, id) = (owner.as_ref(), info.id.as_str());
    let failed = |error| ApiError::of_lookup(error, id);
    let mut options = Options::of(&mut query)?;
    options.bound_by_start(&info);
    let waited = match &options.wait {
        Some(wait) => {
            let waited = workspace.wait(owner, id, wait.clone()).await;
            Some(waited.map_err(|error| match error {
                // Only the expression of a wait can be invalid.
                Error::Invalid(text) => ApiError::invalid("until", text),
                error => failed(error),
            })?)
        }
        None => None,
    };
    let mut snapshot = workspace.snapshot(owner, id).await.map_err(failed)?;
    // Read the output after the state, so that the output of an ended process is complete.
    let page = match options.since {
        Some(since) => {
            let chunk = workspace.read(owner, id, since, options.max_bytes).await;
            Some((since, chunk.map_err(failed)?))
        }
        None => None,
    };
    // Look at the process last. Otherwise, output that was dropped in the meantime would look like a process that wrote nothing.
    let info = workspace.info(owner, id).await.map_err(failed)?;
    if info.expired {
        return Err(ApiError::gone(id, ProcessStatus::from(&snapshot.state)));
    }
    let mut output = Output {
        output: String::new(),
        truncated: None,
        status: ProcessStatus::from(&snapshot.state),
        timed_out: snapshot.state == ProcessState::Running && info.is_overdue(),
        canceled: is_canceled(&snapshot.state),
        duration_ms: milliseconds(info.ran),
        command: &info.command,
        total_bytes: snapshot.total,
        cursor: snapshot.total,
        gap: None,
        matched: waited
            .as_ref()
            .filter(|_| options.has_expression())
            .map(|waited| waited.match_end.is_some()),
        match_end: waited.and_then(|waited| waited.match_end),
        survivors: std::mem::take(&mut snapshot.survivors)
            .into_iter()
            .map(Survivor::from)
            .collect(),
        saved: snapshot.saved.clone().into(),
    };
    match &page {
        None => output.render(&snapshot),
        Some((since, chunk)) => output.page(*since, chunk, &snapshot),
    }
    Ok(reply::json(StatusCode::OK, &output))
}

fn is_canceled(state: &ProcessState) -> bool {
    let exit = state.exit_status();
    exit.is_some_and(|exit| exit.cause == Cause::Cancelled)
}

impl Options {
    fn of(query: &mut Query) -> Result<Self, ApiError> {
        let timeout = query.number("timeout_ms", ANY).map(Duration::from_millis);
        let since = query.number("since", ANY);
        let max_bytes = query.number("max_bytes", ANY).unwrap_or(PAGE_BYTES);
        query.finish()?;
        let max_bytes = max_bytes.clamp(MIN_PAGE_BYTES, MAX_PAGE_BYTES);
        // Only this text means to wait, as in the reference.
        let wait = (query.text("wait").as_deref() == Some("true")).then(|| WaitOptions {
            timeout: timeout.unwrap_or(MAX_WAIT).min(MAX_WAIT),
            since: since.unwrap_or(0),
            until: query.text("until"),
            output: false,
        });
        Ok(Self {
            wait,
            stop_at_start_timeout: query.text("stop_at_start_timeout").as_deref() == Some("true"),
            since,
            max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
        })
    }

    /// Lets the wait end with the `timeout_ms` of the start, if this client asks for that.
    fn bound_by_start(&mut self, process: &Info) {
        if self.stop_at_start_timeout
            && let (Some(wait), Some(left)) = (&mut self.wait, process.time_left)
        {
            wait.timeout = wait.timeout.min(left);
        }
    }

    fn has_expression(&self) -> bool {
        let wait = self.wait.as_ref();
        wait.is_some_and(|wait| wait.until.is_some())
    }
}

impl Output<'_> {
    /// Shows the beginning and the end, as the reference does.
    fn render(&mut self, snapshot: &Snapshot) {
        let windows = Windows {
            head: &snapshot.head,
            tail: &snapshot.tail,
            total: snapshot.total,
        };
        let rendering = render(windows, Sizes::default());
        self.output = rendering.output;
        self.truncated = rendering.truncated.map(|truncation| Truncated {
            original_bytes: truncation.original_bytes,
            retained_bytes: truncation.retained_bytes,
            omitted_bytes: truncation.omitted_bytes,
            strategy: truncation.strategy,
            clipped_lines: truncation.clipped_lines,
        });
    }

    /// Shows the output after a cursor.
    fn page(&mut self, since: u64, chunk: &Chunk, snapshot: &Snapshot) {
        let page = Page::of(chunk, snapshot.state.is_live());
        self.output = page.text;
        self.total_bytes = chunk.total;
        self.cursor = page.cursor;
        self.gap = Gap::before(since, chunk);
    }
}
