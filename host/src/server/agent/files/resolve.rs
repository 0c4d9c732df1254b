//! `GET /resolve-path`: the path that is left when every link has been followed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::error::{not_run, refused};
use super::path;
use super::query::Query;
use crate::server::agent::error::ApiError;
use crate::server::agent::query::Parameters;
use crate::server::agent::reply;
use toolhost_local::files::Pool;

pub(super) async fn resolve(
    State(files): State<Pool>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let mut query = Query::new(&parameters);
    let path = query.required("path");
    query.finish()?;
    path::check(path).map_err(ApiError::bad_request)?;
    let asked = path.to_owned();
    let resolved = files
        .run(Arc::default(), move |files, _| files.resolve(&asked))
        .await
        .map_err(|error| not_run(&error))?
        .map_err(|error| refused(path, &error))?;
    let body = json!({ "resolved_path": resolved.to_string_lossy() });
    Ok(reply::json(StatusCode::OK, &body))
}
