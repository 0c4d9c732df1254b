//! Running calls and processes, on the wire.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::v1::all_processes::described;
use toolhost_core::{CallNow, ProcessNow};
use toolhost_http::process_values;
use toolhost_http::time::milliseconds;
use toolhost_state::unix_time;

/// Everything that runs and that the token may see.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Now {
    /// The time of the look, in milliseconds since 1970.
    pub(super) at_unix_ms: u64,
    /// The calls that run, the longest first.
    pub(super) calls: Vec<Call>,
    /// The processes that run or linger, in the order of lists.
    pub(super) processes: Vec<Process>,
    /// The workspaces whose agents do not answer now. Their processes are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unanswered: Vec<String>,
}

/// A call that runs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CallNow)]
pub(crate) struct Call {
    /// The chat of the call.
    chat: String,
    /// The id of the call.
    id: String,
    /// The tool that was called.
    tool: String,
    #[schema(inline)]
    state: State,
    /// How long ago it began.
    running_ms: u64,
    /// The name of the token that called, for tokens without bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The workspace of the chat.
    workspace: String,
}

/// `queued`: the call waits for its workspace; `running`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    Queued,
    Running,
}

/// A process that runs or lingers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProcessNow)]
pub(crate) struct Process {
    #[serde(flatten)]
    process: process_values::Process,
    /// When it was started, in milliseconds since 1970.
    started_at_unix_ms: u64,
}

impl Call {
    pub(super) fn new(one: &CallNow, ran: Duration, names_token: bool) -> Self {
        let call = &one.call;
        Self {
            chat: call.chat.to_string(),
            id: call.id.to_string(),
            tool: call.tool.clone(),
            state: match one.is_queued {
                true => State::Queued,
                false => State::Running,
            },
            running_ms: milliseconds(ran),
            token: names_token.then(|| call.principal.clone()),
            workspace: one.workspace.to_string(),
        }
    }
}

impl Process {
    pub(super) fn new(one: &ProcessNow) -> Self {
        Self {
            process: described(one.clone()),
            started_at_unix_ms: unix_time::to_ms(one.process.info.started),
        }
    }
}
