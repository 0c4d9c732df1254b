//! `/v1/chats/{chat}/ports`: the ports on which commands of a chat listen, and links for people who use what listens there.

use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, LOCATION};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::paths::ChatPath;
use crate::visibility::Visibility as _;
use toolhost_core::{Host, OUTPUT_TOOL, PortError};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::{Kind, Problem};
use toolhost_state::id::ChatId;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(open))
}

/// The part after the chat in the address of a port.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "it is there for its description only")]
struct PortPath {
    /// The port.
    #[param(minimum = 1, maximum = 65535, example = 5173)]
    port: u16,
}

/// How long the list may wait.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Patience {
    /// How long to wait for the first port, in seconds, up to 60; 0 if this is absent.
    #[param(minimum = 0, maximum = 60)]
    #[serde(default)]
    wait_seconds: u64,
}

/// A port on which a command of a chat listens.
#[derive(Debug, Serialize, ToSchema)]
struct Port {
    /// The TCP port.
    #[schema(minimum = 1)]
    port: u16,
    /// The process whose command listens.
    process: String,
    /// The address at which a person opens the server, without a token; absent if this server shows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The time from which on the address leads nowhere, in seconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_unix: Option<u64>,
}

/// The ports on which commands of a chat listen.
#[derive(Debug, Serialize, ToSchema)]
struct PortList {
    /// The ports, ascending.
    ports: Vec<Port>,
}

/// Lists the ports on which commands of a chat listen
///
/// Any bearer of the address of a port can use the server until the address expires.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/ports", operation_id = "listPorts", tag = "processes",
    params(ChatPath, Patience),
    responses((status = 200, description = "The ports.", body = PortList)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "bounded_token", "workspace_unavailable", "unknown_workspace", "other_host",
        "host_lost", "host_unreachable", "unreadable", "busy"
    ]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
    Query(patience): Query<Patience>,
) -> Result<Json<PortList>, Problem> {
    let chat = allowed(&host, &principal, &chat)?;
    let wait = super::pages::within("wait_seconds", patience.wait_seconds, 0..=60)?;
    let found = host
        .ports_of(&chat, principal.actor(), Duration::from_secs(wait))
        .await;
    let ports = found.map_err(problem)?.into_iter().map(|found| {
        let link = host.port_link(&chat, found.number, principal.actor());
        let (url, expires_at_unix) = link.map(|link| (link.url, link.expires_at_unix)).unzip();
        Port {
            port: found.number,
            process: found.process.to_string(),
            url,
            expires_at_unix,
        }
    });
    Ok(Json(PortList {
        ports: ports.collect(),
    }))
}

/// Opens a server of a chat
///
/// The answer leads to an address with an origin of its own, which needs no token until it expires.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/ports/{port}/", operation_id = "openPort", tag = "processes",
    params(ChatPath, PortPath),
    responses((status = 303, description = "The address of the server.", headers(("location" = String, description = "The address.")))),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "bounded_token", "workspace_unavailable", "unknown_workspace", "unknown_port",
        "other_host", "host_lost", "host_unreachable", "unreadable", "busy"
    ]))),
)]
async fn open(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, port)): Path<(String, u16)>,
) -> Result<Response, Problem> {
    let chat = allowed(&host, &principal, &chat)?;
    let found = host
        .ports_of(&chat, principal.actor(), Duration::ZERO)
        .await;
    let mut found = found.map_err(problem)?.into_iter();
    if !found.any(|found| found.number == port) {
        let detail = format!("nothing of this chat listens at port {port}");
        return Err(Problem::new(Kind::UNKNOWN_PORT, detail));
    }
    let link = host.port_link(&chat, port, principal.actor());
    let link = link.ok_or_else(|| {
        let detail = "this server shows no servers of chats: see --ports-domain";
        Problem::new(Kind::UNKNOWN_PORT, detail)
    })?;
    let headers = [(LOCATION, link.url), (CACHE_CONTROL, "no-store".into())];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// Returns the chat, if the principal may show its servers to people.
fn allowed(host: &Host, principal: &Principal, chat: &str) -> Result<ChatId, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(host, Scope::Call, &chat)?;
    if !principal.may_use(OUTPUT_TOOL) {
        let detail = format!("this token may not use the tool {OUTPUT_TOOL}");
        return Err(Problem::new(Kind::BOUNDED_TOKEN, detail));
    }
    Ok(chat)
}

fn problem(error: PortError) -> Problem {
    match error {
        PortError::Workspace(error) => error.into(),
        PortError::Refused(error) => error.into(),
    }
}
