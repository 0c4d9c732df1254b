//! The machines of workspaces: starting and stopping them, and their logs.

use std::time::Duration;

use axum::extract::{Path, Query, Request, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_body;
use super::pages::within;
use super::paths::WorkspacePath;
use super::workspaces::{MAX_BODY, StateOfWorkspace, Workspace};
use toolhost_core::{Host, Removal, WorkspaceState};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::{LogPage, Phase};

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(act))
        .routes(routes!(log))
}

/// A request to start or stop the machine of a workspace.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MachineRequest {
    #[schema(inline)]
    action: Action,
    /// Of `stop`: whether the calls and processes that run in the workspace are ended. Otherwise a workspace in which something runs is not
    /// stopped.
    force: Option<bool>,
}

/// `start` makes the machine if there is none, starts it, and waits until the workspace can be used. `stop` stops it, and keeps its files.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Start,
    Stop,
}

impl From<WorkspaceState> for StateOfWorkspace {
    fn from(state: WorkspaceState) -> Self {
        match state {
            WorkspaceState::Open => Self::Open,
            WorkspaceState::Closed => Self::Closed,
            WorkspaceState::Failed | WorkspaceState::Machine(Phase::Failed) => Self::Failed,
            WorkspaceState::Removing => Self::Removing,
            WorkspaceState::Machine(Phase::Creating) => Self::Creating,
            WorkspaceState::Machine(Phase::Starting) => Self::Starting,
            WorkspaceState::Machine(Phase::Ready) => Self::Ready,
            WorkspaceState::Machine(Phase::StartFailed) => Self::StartFailed,
            WorkspaceState::Machine(Phase::StartTimeout) => Self::StartTimeout,
            WorkspaceState::Machine(Phase::Stopping) => Self::Stopping,
            WorkspaceState::Machine(Phase::Stopped) => Self::Stopped,
        }
    }
}

/// Starts or stops the machine of a workspace
///
/// Of a workspace of the provider `template`. The answer comes when that is done; it is done as well if the client does not wait. Needs a token
/// without a list of tools.
#[utoipa::path(
    post, path = "/v1/workspaces/{*name}", operation_id = "controlWorkspace", tag = "workspaces",
    params(WorkspacePath),
    request_body(content = MachineRequest, description = "What to do.", example = json!({ "action": "stop" })),
    responses((status = 200, description = "The workspace.", body = Workspace)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_workspace", "bounded_token", "unknown_workspace", "workspace_in_use", "default_workspace", "no_provider", "workspace_unavailable"
    ]))),
)]
async fn act(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Workspace>, Problem> {
    // A stop ends calls of every tool.
    principal.require_all_tools(Scope::Call)?;
    let name: WorkspaceName = name.parse()?;
    let asked: Option<MachineRequest> = json_body::read(request, MAX_BODY).await?;
    let missing = || Problem::broken_request("the body names an action: \"start\" or \"stop\"");
    let asked = asked.ok_or_else(missing)?;
    let actor = principal.actor();
    match (asked.action, asked.force) {
        (Action::Start, None) => host.start_workspace(&name, actor).await?,
        (Action::Start, Some(_)) => {
            return Err(Problem::broken_request("force is of the action \"stop\""));
        }
        (Action::Stop, force) => {
            let removal = match force {
                Some(true) => Removal::Forced,
                Some(false) | None => Removal::Unused,
            };
            host.stop_workspace(&name, removal, actor).await?;
        }
    }
    let info = host.workspace_info(&name, actor).await?;
    Ok(Json(info.into()))
}

/// The query parameters of a log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct LogParameters {
    /// The `next` of the page before; 0 for all lines that are kept.
    #[serde(default)]
    after: u64,
    /// How long to wait for a line, in seconds, up to 60; 0 if this is absent.
    #[param(minimum = 0, maximum = 60)]
    #[serde(default)]
    wait_seconds: u64,
}

/// Lines of a log.
#[derive(Serialize, ToSchema)]
struct Log {
    /// The lines, each with its end.
    log: String,
    /// The `after` of the lines that will follow.
    next: u64,
}

/// Returns the log of a workspace
///
/// The last 64 KiB of what was written while its machine was made and started, with the output of its start-up script, since the server
/// started. Empty for a workspace without a machine of its own.
#[utoipa::path(
    get, path = "/v1/workspace-logs/{*name}", operation_id = "getWorkspaceLog", tag = "workspaces",
    params(WorkspacePath, LogParameters),
    responses((status = 200, description = "The lines.", body = Log)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_workspace", "unknown_workspace", "default_workspace"]))),
)]
async fn log(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
    Query(parameters): Query<LogParameters>,
) -> Result<Json<Log>, Problem> {
    principal.require(Scope::Read)?;
    let name: WorkspaceName = name.parse()?;
    let wait = within("wait_seconds", parameters.wait_seconds, 0..=60)?;
    let (after, wait) = (parameters.after, Duration::from_secs(wait));
    let page = host.workspace_log(&name, after, wait, principal.actor());
    let LogPage { text, next } = page.await?;
    Ok(Json(Log { log: text, next }))
}
