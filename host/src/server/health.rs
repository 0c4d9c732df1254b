//! `GET /healthz`: whether the server is up, and for those with the token how it runs commands.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::access::Access;
use crate::process::Registry;

/// What the answer is made of.
#[derive(Clone, Debug)]
pub(super) struct Health {
    pub(super) access: Arc<Access>,
    pub(super) processes: Arc<Registry>,
}

/// Without the token, or with a wrong one, there is nothing in it that is worth knowing. Either is no error: whoever
/// watches the server needs no token.
pub(super) async fn healthz(State(health): State<Health>, headers: HeaderMap) -> Json<Value> {
    if health.access.check_token(&headers).is_err() {
        return Json(json!({ "status": "ok" }));
    }
    Json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "containment": health.processes.containment(),
        "workspace": health.processes.workspace().to_string_lossy(),
        "processes": { "live": health.processes.live() },
    }))
}
