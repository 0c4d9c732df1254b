//! `POST /list-directory`: the entries of a directory, directories first; and `GET /resolve-path`.

use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::path::{self, joined, names, refused, status};
use crate::error::{ApiError, quote};
use crate::query::Query;
use crate::{body, reply};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{Entry, Error, Kind, MAX_ENTRIES};

/// The most names in a listing, so that a browser can show it and the host can hold it in memory.
const MAX_NAMES: usize = 100_000;

/// The request body, for clients that name the directory by its parts.
#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "body::nullable")]
    path: Vec<String>,
    #[serde(default, deserialize_with = "body::nullable")]
    relativity: String,
}

/// The response body.
#[derive(Debug, Serialize)]
struct Listing {
    absolute_path: Vec<String>,
    absolute_path_string: String,
    contents: Vec<Listed>,
    /// Set if there are more names than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    absolute_path_string: String,
    is_dir: bool,
}

pub(super) async fn list(
    State(workspace): State<Arc<dyn Workspace>>,
    mut query: Query,
    request: Request,
) -> Result<Response, ApiError> {
    let path = query.text("path");
    query.finish_strictly()?;
    let directory = match path {
        None => directory_of(&body::read(request).await?, workspace.root())?,
        Some(path) => {
            path::check(&path).map_err(ApiError::bad_request)?;
            names([path.as_str()])
        }
    };
    // The directory is opened by the path that the reply shows, as in the reference.
    let absolute = joined(&directory);
    path::check(&absolute).map_err(ApiError::bad_request)?;
    let (entries, truncated) =
        entries(&*workspace, &absolute)
            .await
            .map_err(|error| match error {
                Error::NotADirectory => {
                    let message = format!("open {absolute}: is not a directory");
                    ApiError::new(status(&error), message)
                }
                error => refused(&absolute, &error),
            })?;
    let contents = entries.into_iter().map(|entry| Listed {
        absolute_path_string: format!("{}/{}", absolute.trim_end_matches('/'), entry.name),
        is_dir: entry.kind == Kind::Directory,
        name: entry.name,
    });
    let listing = Listing {
        contents: contents.collect(),
        absolute_path: directory,
        absolute_path_string: absolute,
        truncated,
    };
    Ok(reply::json(StatusCode::OK, &listing))
}

/// `GET /resolve-path`: returns a path with every symbolic link resolved.
pub(super) async fn resolve(
    State(workspace): State<Arc<dyn Workspace>>,
    query: Query,
) -> Result<Response, ApiError> {
    let path = path::of(query)?;
    let resolved = workspace.resolve(path.clone(), Arc::default()).await;
    let resolved = resolved.map_err(|error| refused(&path, &error))?;
    let body = json!({ "resolved_path": resolved.to_string_lossy() });
    Ok(reply::json(StatusCode::OK, &body))
}

/// Returns the components of the directory that a request body names. The reference's `home` is the workspace here.
fn directory_of(body: &Body, root: &Path) -> Result<Vec<String>, ApiError> {
    let parts = body.path.iter().map(String::as_str);
    match body.relativity.as_str() {
        "root" => Ok(names(parts)),
        "home" => {
            let home = root.to_string_lossy();
            Ok(names([home.as_ref()].into_iter().chain(parts)))
        }
        other => {
            let other = quote(other);
            let message = format!(r#"Unsupported relativity {other}. Use "root" or "home"."#);
            Err(ApiError::bad_request(message))
        }
    }
}

/// Returns the entries of a directory, directories first, and whether there are more.
async fn entries(workspace: &dyn Workspace, path: &str) -> Result<(Vec<Entry>, bool), Error> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut more = true;
    while more && entries.len() < MAX_NAMES {
        let after = entries.last().map(|entry| entry.name.clone());
        let page = workspace.read_directory(path.to_owned(), after, MAX_ENTRIES, Arc::default());
        let (page, follows) = page.await?;
        // An empty page ends the loop, which would otherwise never end.
        more = follows && !page.is_empty();
        entries.extend(page);
    }
    entries.sort_by_key(|entry| entry.kind != Kind::Directory);
    Ok((entries, more))
}
