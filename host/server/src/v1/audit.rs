//! `GET /v1/audit`: the lines of the audit trail. For operators.

use axum::extract::{Query, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::pages;
use toolhost_call::audit::{AuditPage, AuditPlace, AuditQuery};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::{Kind, Problem};

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(list))
}

/// The query parameters that select lines.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Parameters {
    /// Only lines about this chat.
    #[param(example = "support-42")]
    chat: Option<String>,
    /// Only lines about what this token, or another principal, did.
    #[param(example = "token")]
    token: Option<String>,
    /// Only lines about this plugin.
    #[param(example = "shell")]
    plugin: Option<String>,
    /// Only lines of this event.
    #[param(example = "process_start")]
    event: Option<String>,
    /// Whether to return only lines about something that was denied: to a plugin, to a command, or by the approval hook.
    denied: Option<bool>,
    /// The maximum number of returned lines; 50 if this is absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next` of the page before. If its lines were removed meanwhile, the page is empty.
    #[param(pattern = "^[0-9a-f]{1,16}-[0-9a-f]{1,16}$")]
    after: Option<String>,
}

/// A page of the audit trail.
#[derive(Serialize, ToSchema)]
struct AuditLines {
    /// Whether this host records an audit trail.
    recorded: bool,
    /// The lines, newest first, each with its `time` and its `event`. With a filter, there may be fewer than `limit`, even none,
    /// although there is a `next`: a page looks at 16 MiB.
    #[schema(value_type = Vec<Object>)]
    lines: Vec<Value>,
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Lists lines of the audit trail
///
/// In pages, newest first. Lines are there a moment after what they tell of. Hosts that share the directory of the trail share its
/// lines.
#[utoipa::path(
    get, path = "/v1/audit", operation_id = "listAudit", tag = "server",
    params(Parameters),
    responses((status = 200, description = "A page of lines.", body = AuditLines)),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token", "internal"]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Query(parameters): Query<Parameters>,
) -> Result<Json<AuditLines>, Problem> {
    principal.require_everything(Scope::Admin)?;
    let after = parameters.after.as_deref().map(str::parse::<AuditPlace>);
    let query = AuditQuery {
        chat: parameters.chat,
        principal: parameters.token,
        plugin: parameters.plugin,
        event: parameters.event,
        denied: parameters.denied.unwrap_or(false),
        after: after.transpose().map_err(|_| pages::wrong_place())?,
        limit: pages::limit(parameters.limit)? as usize,
    };
    let audit = host.audit().clone();
    let read = tokio::task::spawn_blocking(move || audit.read(&query)).await;
    let page = match read {
        Ok(Ok(page)) => page,
        Ok(Err(error)) => return Err(unreadable(&error)),
        Err(error) => return Err(unreadable(&error)),
    };
    let recorded = page.is_some();
    let AuditPage { lines, next } = page.unwrap_or_default();
    Ok(Json(AuditLines {
        recorded,
        lines,
        next: next.map(|next| next.to_string()),
    }))
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> Problem {
    // The text names files of the host, which are none of the client's business.
    tracing::error!(error, "the audit trail cannot be read");
    let detail = "the audit trail cannot be read; the log of the server says why";
    Problem::new(Kind::INTERNAL, detail)
}
