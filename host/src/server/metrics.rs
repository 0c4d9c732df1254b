//! `GET /metrics`: what is counted, for Prometheus.

use axum::Extension;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::access::{Principal, Scope};
use super::problem::Problem;
use crate::host::Host;
use crate::metrics::MEDIA_TYPE;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(text))
}

/// Counters and latencies, in the text format of Prometheus
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "server",
    responses((
        status = 200, description = "The metrics.", body = String, content_type = "application/openmetrics-text",
    )),
    extensions(("x-problems" = json!(["missing_scope"]))),
)]
async fn text(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
) -> Result<impl IntoResponse, Problem> {
    principal.require(Scope::Read)?;
    Ok(([(CONTENT_TYPE, MEDIA_TYPE)], host.metrics().text()))
}
