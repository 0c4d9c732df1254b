//! `GET /list`: the processes of a chat, or of all chats.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::chat::Chat;
use super::error::ApiError;
use super::process_status::ProcessStatus;
use super::query::{ANY, Query};
use super::reply;
use toolhost_http::process_values::Process;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::AllQuery;

/// The default number of listed processes.
const DEFAULT_LIMIT: usize = 10;

/// The most processes that are listed.
const MAX_LIMIT: usize = 1000;

/// Lists running processes first, then lingering, then ended ones, each newest first. `?running=true` leaves out the ended ones.
pub(super) async fn list(
    State(workspace): State<Arc<dyn Workspace>>,
    chat: Chat,
    mut query: Query,
) -> Result<Response, ApiError> {
    let limit = query.number("limit", ANY).map(usize::try_from);
    let limit = limit.map_or(DEFAULT_LIMIT, |limit| limit.unwrap_or(MAX_LIMIT));
    let live_only = query.flag("running");
    query.finish()?;
    let limit = limit.min(MAX_LIMIT);
    let listed = match &chat.id {
        Some(chat) => workspace.list(Some(chat), live_only, limit).await,
        None => {
            let query = AllQuery {
                running_only: live_only,
                max: limit,
                ..AllQuery::default()
            };
            let listed = workspace.list_all(query).await;
            listed.map(|all| {
                let infos = all.processes.into_iter().map(|one| one.info);
                (infos.collect(), all.total)
            })
        }
    };
    let (infos, total) = listed.map_err(|error| {
        ApiError::of_process(error, "Failed to list processes.", "list processes")
    })?;
    let processes = infos.into_iter().map(|info| {
        let state = info.state.clone();
        ProcessStatus::new(&state, Process::new(info, None))
    });
    let processes: Vec<_> = processes.collect();
    let body = json!({ "processes": processes, "total": total });
    Ok(reply::json(StatusCode::OK, &body))
}
