//! `GET /metrics`: counters and latencies, for Prometheus.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use toolhost_call::metrics::Format;
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(text))
}

/// Counters and latencies
///
/// In the text format of Prometheus, or as OpenMetrics if `Accept` names that. They count what all chats and tools did, so a
/// token that is bounded by `chats` or `tools` gets none of them.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "server",
    responses((
        status = 200, description = "The metrics.", content(
            (String = "text/plain"),
            (String = "application/openmetrics-text"),
        ),
    )),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token"]))),
)]
async fn text(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    principal.require_everything(Scope::Read)?;
    let accept = headers.get_all(ACCEPT).iter();
    let accept: Vec<_> = accept.filter_map(|value| value.to_str().ok()).collect();
    let format = Format::accepted(&accept.join(","));
    host.observe().await;
    let headers = [(CONTENT_TYPE, format.media_type()), (VARY, "accept")];
    Ok((headers, host.metrics().text_in(format)))
}
