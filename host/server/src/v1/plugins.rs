//! `/v1/plugins`: listing plugins and their states, and turning plugins on and off. For operators.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use toolhost_core::{Host, PluginChange, PluginError, PluginInfo};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::{Kind, Problem};

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(enable))
        .routes(routes!(disable))
        .routes(routes!(reload))
}

/// All plugins.
#[derive(Serialize, ToSchema)]
struct PluginList {
    plugins: Vec<PluginInfo>,
}

/// Lists the plugins
///
/// The list includes plugins that are turned off or do not load, with the reason.
#[utoipa::path(
    get, path = "/v1/plugins", operation_id = "listPlugins", tag = "plugins",
    responses((status = 200, description = "The plugins.", body = PluginList)),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token"]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
) -> Result<Json<PluginList>, Problem> {
    principal.require_everything(Scope::Admin)?;
    Ok(Json(PluginList {
        plugins: host.plugins(),
    }))
}

/// Turns a plugin on
///
/// The plugin stays on until its configuration changes, or the host ends.
#[utoipa::path(
    post, path = "/v1/plugins/{name}/enable", operation_id = "enablePlugin", tag = "plugins",
    params(("name" = String, Path, description = "The name of the plugin.", example = "shell")),
    responses((status = 200, description = "How the plugin stands now.", body = PluginInfo)),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token", "unknown_plugin", "plugin_does_not_load", "unrecorded", "internal"]))),
)]
async fn enable(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<PluginInfo>, Problem> {
    principal.require_everything(Scope::Admin)?;
    let enabled = host
        .change_plugin(&name, PluginChange::Enable, principal.actor())
        .await;
    enabled.map(Json).map_err(|error| problem(&error))
}

/// Turns a plugin off
///
/// The plugin stays off until its configuration changes, or the host ends. Calls under way go on.
#[utoipa::path(
    post, path = "/v1/plugins/{name}/disable", operation_id = "disablePlugin", tag = "plugins",
    params(("name" = String, Path, description = "The name of the plugin.", example = "shell")),
    responses((status = 200, description = "How the plugin stands now.", body = PluginInfo)),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token", "unknown_plugin", "plugin_does_not_load", "unrecorded", "internal"]))),
)]
async fn disable(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<PluginInfo>, Problem> {
    principal.require_everything(Scope::Admin)?;
    let disabled = host
        .change_plugin(&name, PluginChange::Disable, principal.actor())
        .await;
    disabled.map(Json).map_err(|error| problem(&error))
}

/// Loads a plugin again
///
/// The plugin is loaded whether or not it has changed, and its quarantine ends. If it does not load, the version before it
/// stays.
#[utoipa::path(
    post, path = "/v1/plugins/{name}/reload", operation_id = "reloadPlugin", tag = "plugins",
    params(("name" = String, Path, description = "The name of the plugin.", example = "shell")),
    responses((status = 200, description = "How the plugin stands now.", body = PluginInfo)),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token", "unknown_plugin", "plugin_does_not_load", "internal"]))),
)]
async fn reload(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<PluginInfo>, Problem> {
    principal.require_everything(Scope::Admin)?;
    let reloaded = host
        .change_plugin(&name, PluginChange::Reload, principal.actor())
        .await;
    reloaded.map(Json).map_err(|error| problem(&error))
}

/// Returns the problem for a failed change of a plugin.
fn problem(error: &PluginError) -> Problem {
    let kind = match error {
        PluginError::Unknown { .. } => Kind::UNKNOWN_PLUGIN,
        PluginError::Untold { .. } => Kind::UNRECORDED,
        PluginError::Host(_) => Kind::INTERNAL,
        PluginError::Load { .. } => Kind::PLUGIN_DOES_NOT_LOAD,
    };
    Problem::new(kind, error.to_string())
}
