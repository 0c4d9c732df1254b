//! `GET /v1/processes`: the processes of all chats.

use axum::extract::{Query, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::pages;
use super::processes::{self, problem};
use toolhost_core::{Host, ProcessNow};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_http::process_values::Process;
use toolhost_workspace::process::{AllQuery, ListPlace, Listed};

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(list))
}

/// The query parameters that select processes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Parameters {
    /// Whether to return only processes that run or linger; otherwise ended ones are included.
    running: Option<bool>,
    /// Only processes of chats whose names begin like this. A token with a prefix of chats gets those of its own chats in any case.
    #[param(
        max_length = 128,
        pattern = r"^[A-Za-z0-9._:@-]*$",
        example = "support-"
    )]
    prefix: Option<String>,
    /// The maximum number of returned processes; 50 if this is absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next` of the page before.
    #[param(pattern = r"^[012]-[0-9a-f]{1,16}-.+$")]
    after: Option<String>,
}

/// A page of the processes of all chats.
#[derive(Serialize, ToSchema)]
struct ProcessPage {
    /// Running processes first, then lingering, then ended ones, each newest first.
    processes: Vec<Process>,
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The workspaces whose agents do not answer now. Their processes are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unanswered: Vec<String>,
}

/// Lists the processes of all chats
///
/// In pages. A process that ends meanwhile may be on two pages; none is missed that there was when the first page was read. A
/// process that was started over the agent API without a chat has no `chat`; a token with a prefix of chats does not see it. The processes
/// of an agent that does not answer within three seconds are missing, and `unanswered` has its workspace.
#[utoipa::path(
    get, path = "/v1/processes", operation_id = "listAllProcesses", tag = "processes",
    params(Parameters),
    responses((status = 200, description = "A page of processes.", body = ProcessPage)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "bounded_token", "workspace_unavailable"]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Query(parameters): Query<Parameters>,
) -> Result<Json<ProcessPage>, Problem> {
    principal.require_all_tools(Scope::Read)?;
    let limit = pages::limit(parameters.limit)? as usize;
    let after = parameters.after.as_deref().map(str::parse::<ListPlace>);
    let query = AllQuery {
        running_only: parameters.running.unwrap_or(false),
        prefix: principal.chats_of(pages::prefix(parameters.prefix.as_deref())?)?,
        after: after.transpose().map_err(|_| pages::wrong_place())?,
        // One more than asked for tells whether something is left.
        max: limit + 1,
    };
    let Listed {
        processes: mut listed,
        unanswered,
        ..
    } = host
        .seen_by(principal.actor(), host.workspace())
        .list_all(query)
        .await
        .map_err(problem)?;
    let is_more = listed.len() > limit;
    listed.truncate(limit);
    let last = listed.last().filter(|_| is_more);
    let next = last.map(|last| ListPlace::of(&last.info).to_string());
    let listed = host.with_observations(listed).await;
    Ok(Json(ProcessPage {
        next,
        unanswered: reached(&principal, &unanswered),
        processes: listed.into_iter().map(described).collect(),
    }))
}

/// Describes a process with its chat and its workspace, what it uses and last wrote.
pub(crate) fn described(one: ProcessNow) -> Process {
    let ProcessNow {
        process,
        usage,
        last_line,
        workspace,
    } = one;
    processes::described(process.info)
        .of_chat(process.owner.as_ref())
        .in_workspace(&workspace)
        .observed(usage, last_line)
}

/// Returns those of these workspaces that a principal reaches.
pub(crate) fn reached(principal: &Principal, workspaces: &[String]) -> Vec<String> {
    let reaches = |name: &&String| {
        let name = name.parse();
        name.is_ok_and(|name| principal.actor().may_reach(&name))
    };
    workspaces.iter().filter(reaches).cloned().collect()
}
