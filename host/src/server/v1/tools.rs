//! `GET /v1/tools?format=`: the tools, in a dialect of the client's choice.

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::host::Host;
use crate::server::problem::Problem;
use crate::tool::Format;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(list))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    format: Option<String>,
}

#[utoipa::path(get, path = "/v1/tools", operation_id = "listTools", tag = "tools")]
async fn list(
    State(host): State<Host>,
    Query(parameters): Query<Parameters>,
) -> Result<Json<Value>, Problem> {
    let format = match parameters.format.as_deref() {
        None => Format::default(),
        Some(name) => name.parse().map_err(|error: crate::tool::UnknownFormat| {
            Problem::broken_request(error.to_string())
        })?,
    };
    Ok(Json(format.render(&host.tools())))
}
