//! `GET /metrics`: what is counted of the plugins, for Prometheus.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::host::Host;
use crate::metrics::MEDIA_TYPE;

pub(super) async fn text(State(host): State<Host>) -> impl IntoResponse {
    ([(CONTENT_TYPE, MEDIA_TYPE)], host.metrics().text())
}
