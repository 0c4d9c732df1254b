//! `GET /v1/tools?format=`: the tools, in a dialect of the client's choice.

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::Value;

use crate::host::Host;
use crate::server::problem::Problem;
use crate::tool::Format;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    format: Option<String>,
}

pub(super) async fn list(
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
