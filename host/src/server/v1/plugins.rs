//! `/v1/plugins`: which plugins there are and how they stand, and turning them off and on.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::host::{Host, PluginError, PluginInfo};
use crate::server::access::{Principal, Scope};
use crate::server::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(enable))
        .routes(routes!(disable))
        .routes(routes!(reload))
}

#[utoipa::path(
    get,
    path = "/v1/plugins",
    operation_id = "listPlugins",
    tag = "plugins"
)]
async fn list(State(host): State<Host>) -> Json<Value> {
    Json(json!({ "plugins": host.plugins() }))
}

#[utoipa::path(post, path = "/v1/plugins/{name}/enable", operation_id = "enablePlugin", tag = "plugins", params(("name" = String, Path)))]
async fn enable(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<PluginInfo>, Problem> {
    principal.require(Scope::Admin)?;
    Ok(Json(host.enable_plugin(&name, true).await?))
}

#[utoipa::path(post, path = "/v1/plugins/{name}/disable", operation_id = "disablePlugin", tag = "plugins", params(("name" = String, Path)))]
async fn disable(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<PluginInfo>, Problem> {
    principal.require(Scope::Admin)?;
    Ok(Json(host.enable_plugin(&name, false).await?))
}

#[utoipa::path(post, path = "/v1/plugins/{name}/reload", operation_id = "reloadPlugin", tag = "plugins", params(("name" = String, Path)))]
async fn reload(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<PluginInfo>, Problem> {
    principal.require(Scope::Admin)?;
    Ok(Json(host.reload_plugin(&name).await?))
}

impl From<PluginError> for Problem {
    fn from(error: PluginError) -> Self {
        let (status, code) = match &error {
            PluginError::Unknown { .. } => (StatusCode::NOT_FOUND, "unknown_plugin"),
            PluginError::Host(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            PluginError::Load { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "plugin_does_not_load"),
        };
        Self::new(status, code, error.to_string())
    }
}
