//! `GET /list`: the processes of a chat, or of all.

use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;

use super::chat::Chat;
use super::error::ApiError;
use super::process_status::ProcessStatus;
use super::query::Parameters;
use super::reply;
use toolhost_http::time::unix;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::Info;

/// How many processes are listed unless the client says otherwise.
const DEFAULT_LIMIT: usize = 10;

/// The most processes that are listed.
const MAX_LIMIT: usize = 1000;

/// One process of a list.
#[derive(Debug, Serialize)]
struct ProcessInfo {
    id: String,
    command: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    workdir: String,
    background: bool,
    #[serde(flatten)]
    status: ProcessStatus,
    started_at_unix: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exited_at_unix: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_output_at_unix: Option<u64>,
    total_bytes: u64,
}

impl From<Info> for ProcessInfo {
    fn from(info: Info) -> Self {
        Self {
            id: info.id,
            command: info.command,
            workdir: text(&info.workdir),
            background: info.background,
            status: ProcessStatus::from(&info.state),
            started_at_unix: unix(info.started),
            exited_at_unix: info.exited.map(unix),
            last_output_at_unix: info.last_output.map(unix),
            total_bytes: info.total,
        }
    }
}

/// Lists running processes first, then what lingers, then what ended, each newest first. With `?running=true` only what
/// still lives is listed: what lingers, too.
pub(super) async fn list(
    State(workspace): State<Arc<dyn Workspace>>,
    chat: Chat,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let limit = parameters.number("limit")?.map(usize::try_from);
    let limit = limit.map_or(DEFAULT_LIMIT, |limit| limit.unwrap_or(MAX_LIMIT));
    let live_only = parameters.flag("running")?;
    let limit = limit.min(MAX_LIMIT);
    let listed = match &chat.id {
        Some(chat) => workspace.list(Some(chat), live_only, limit).await,
        None => workspace.list_all(live_only, limit).await,
    };
    let (infos, total) = listed.map_err(|error| {
        ApiError::of_process(error, "Failed to list processes.", "list processes")
    })?;
    let processes: Vec<_> = infos.into_iter().map(ProcessInfo::from).collect();
    let body = json!({ "processes": processes, "total": total });
    Ok(reply::json(StatusCode::OK, &body))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
