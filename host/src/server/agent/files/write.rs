//! `POST /write-file`: a file becomes the body of the request.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::error::{not_run, refused, status, text};
use super::query::Query;
use super::{path, upload};
use crate::files::{Error, Files, Kind, Pool, Precondition, Work, Write};
use crate::server::agent::error::ApiError;
use crate::server::agent::query::Parameters;
use crate::server::agent::reply;

pub(super) async fn write(
    State(files): State<Pool>,
    parameters: Parameters,
    request: Request,
) -> Result<Response, ApiError> {
    let mut query = Query::new(&parameters);
    let path = query.required("path");
    query.finish()?;
    path::check(path).map_err(ApiError::bad_request)?;
    let upload = upload::read(request).await?;
    let write = Write {
        path: path.to_owned(),
        data: upload.data,
        when: Precondition::Any,
    };
    let _place = upload.place;
    files
        .run(Arc::new(Work::default()), move |files, _| one(files, write))
        .await
        .map_err(|error| not_run(&error))??;
    let message = format!("Successfully wrote to {path:?}");
    Ok(reply::json(StatusCode::OK, &json!({ "message": message })))
}

fn one(files: &Files, write: Write) -> Result<(), ApiError> {
    let path = write.path.clone();
    let written = files.write_all(vec![write]);
    written.map(drop).map_err(|(_, error)| match error {
        Error::NotAFile if is_directory(files, &path) => {
            ApiError::new(status(&error), format!("open {path}: is a directory"))
        }
        Error::Failed(_) => {
            let message = format!("write {path}: {}", text(&error));
            ApiError::new(status(&error), message)
        }
        error => refused(&path, &error),
    })
}

fn is_directory(files: &Files, path: &str) -> bool {
    let found = files.metadata(path);
    found.is_ok_and(|found| found.kind == Kind::Directory)
}
