//! `GET /resolve-path`: the path that is left when every link has been followed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::error::refused;
use super::path;
use super::query::Query;
use crate::error::ApiError;
use crate::query::Parameters;
use crate::reply;
use toolhost_workspace::Workspace;

pub(super) async fn resolve(
    State(workspace): State<Arc<dyn Workspace>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let mut query = Query::new(&parameters);
    let path = query.required("path");
    query.finish()?;
    path::check(path).map_err(ApiError::bad_request)?;
    let resolved = workspace.resolve(path.to_owned(), Arc::default()).await;
    let resolved = resolved.map_err(|error| refused(path, &error))?;
    let body = json!({ "resolved_path": resolved.to_string_lossy() });
    Ok(reply::json(StatusCode::OK, &body))
}
