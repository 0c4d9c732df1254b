//! `GET /healthz` and `/readyz`: whether the server is up, and whether it takes calls; and for clients with a token how it runs
//! commands.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, Method};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::access::{Access, Scope};
use super::problem::{Kind, Problem};
use tokio_util::sync::CancellationToken;
use toolhost_call::call::Refused;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::Containment;

/// The state that the health checks report.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    /// The access rules. Any valid token may see how the server runs commands.
    pub(super) access: Arc<Access>,
    /// The workspace whose containment and processes are shown.
    pub(super) workspace: Arc<dyn Workspace>,
    /// Whether the server shuts down.
    pub(super) stopping: CancellationToken,
    /// What calls need; `None` for a server without plugins.
    pub(super) readiness: Option<Arc<dyn Readiness>>,
    /// When the server was started.
    pub(super) started: Instant,
}

/// What the calls of a server need.
pub trait Readiness: Debug + Send + Sync {
    /// Returns whether plugins are being loaded for the first time.
    fn is_loading(&self) -> bool;

    /// Returns whether calls can be recorded.
    fn is_recording(&self) -> bool;
}

/// How long after its start a server that still loads plugins is not ready. A plugin that takes longer does not keep clients from all
/// others.
const LOADING_MAX: Duration = Duration::from_mins(1);

/// Returns the routes `/healthz` and `/readyz`, which need no token.
pub(super) fn routes() -> OpenApiRouter<Watched> {
    OpenApiRouter::default()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
}

/// The server is up. With a token, the reply also says how the server runs commands.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    #[schema(inline)]
    status: Status,
    /// The version of Toolhost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    version: Option<&'static str>,
    /// The containment of commands, and why it is not stronger.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    containment: Option<Containment>,
    /// The directory in which commands run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ProcessCounts, required = false)]
    processes: Option<ProcessCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = WorkspaceCounts, required = false)]
    workspaces: Option<WorkspaceCounts>,
}

/// Always `ok`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
}

/// Processes of all chats.
#[derive(Debug, Serialize, ToSchema)]
struct ProcessCounts {
    /// The number of live processes.
    live: u64,
}

/// Workspaces with names.
#[derive(Debug, Serialize, ToSchema)]
struct WorkspaceCounts {
    /// How many there are.
    known: u64,
    /// How many of them are open.
    open: u64,
    /// How many of them could not be opened the last time.
    failed: u64,
}

/// Tells whether the server is up
///
/// Open to every client. Only a client with a token, or one that needs none, gets more than the status. A wrong token is no error,
/// because monitors need none.
#[utoipa::path(
    get, path = "/healthz", operation_id = "health", tag = "server", security(()),
    responses((status = 200, description = "The server is up.", body = Health)),
)]
async fn healthz(
    State(state): State<Watched>,
    method: Method,
    headers: HeaderMap,
    extensions: Extensions,
) -> Json<Health> {
    let client = state.access.client(&method, &headers, &extensions);
    let principal = client.ok().map(|client| client.principal);
    let known = principal.is_some();
    let status = match known {
        // A workspace that cannot be reached is left out.
        true => state.workspace.status().await.ok(),
        false => None,
    };
    // A principal that is bounded to some chats, tools or workspaces does not see how many processes others run.
    let sees_all = principal.is_some_and(|principal| {
        let mut scopes = [Scope::Read, Scope::Agent].into_iter();
        scopes.any(|scope| principal.require_everything(scope).is_ok())
    });
    Json(Health {
        status: Status::Ok,
        version: known.then_some(env!("CARGO_PKG_VERSION")),
        processes: status
            .as_ref()
            .filter(|_| sees_all)
            .map(|status| ProcessCounts {
                live: status.totals.live,
            }),
        workspaces: status
            .as_ref()
            .filter(|_| sees_all)
            .and_then(|status| status.named)
            .map(|named| WorkspaceCounts {
                known: named.known,
                open: named.open,
                failed: named.failed,
            }),
        containment: status.map(|status| status.containment),
        workspace: known.then(|| state.workspace.root().to_string_lossy().into_owned()),
    })
}

/// The server takes calls.
#[derive(Debug, Serialize, ToSchema)]
struct Ready {
    #[schema(inline)]
    status: ReadyStatus,
}

/// Always `ready`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ReadyStatus {
    Ready,
}

/// Tells whether the server takes calls
///
/// Open to every client. A server that has just started is ready once its plugins are loaded, and after a minute in any case. A server
/// whose store does not answer is not ready, because it cannot record calls. While the server shuts down it lets calls end and takes no
/// new ones.
#[utoipa::path(
    get, path = "/readyz", operation_id = "ready", tag = "server", security(()),
    responses((status = 200, description = "The server takes calls.", body = Ready)),
    extensions(("x-problems" = json!(["loading", "unrecorded", "shutting_down"]))),
)]
async fn readyz(State(state): State<Watched>) -> Result<Json<Ready>, Problem> {
    if state.stopping.is_cancelled() {
        return Err(Refused::Closed.into());
    }
    let is_recording = state
        .readiness
        .as_ref()
        .is_none_or(|all| all.is_recording());
    if !is_recording {
        let detail = "calls cannot be recorded, because the store does not answer";
        return Err(Problem::new(Kind::UNRECORDED, detail).retry_after(1));
    }
    let is_loading = state.readiness.is_some_and(|all| all.is_loading());
    if is_loading && state.started.elapsed() < LOADING_MAX {
        let problem = Problem::new(Kind::LOADING, "plugins are still being loaded");
        return Err(problem.retry_after(1));
    }
    Ok(Json(Ready {
        status: ReadyStatus::Ready,
    }))
}
