//! `/v1/chats/{chat}/files`: the files of a chat, for people: what they attach to a chat goes up, and what was made goes down.

mod answer;
mod archive;
mod conditions;
mod directory;
mod download;
mod format;
mod links;
mod packer;
mod range;
mod upload;

use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::pages::within;
use super::paths::{ChatPath, FilePath};
use crate::visibility::Visibility as _;
use answer::{problem, refused};
use directory::{Listing, MAX_PAGE, PAGE};
use download::Download;
use format::Format;
use toolhost_core::{ChatFiles, Host, READ_TOOL, WRITE_TOOL};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::limits::RequestPermit;
use toolhost_http::problem::{Kind, Problem};
use toolhost_state::id::ChatId;
use toolhost_workspace::Context;
use toolhost_workspace::files::{Error, FilesGrant, Kind as FileKind, MAX_RESULTS};
use toolhost_workspace::operation::RemoveFile;

pub(crate) use links::{admitted, opening};
pub use upload::DEFAULT_FILE_SIZE;
pub(crate) use upload::FileLimit;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(get, put, delete))
        .merge(links::making())
}

/// The query parameters that say how a file or a directory is answered.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ReadParameters {
    /// Of a file: whether a browser shows it, in a sandbox without scripts, in the place of saving it.
    #[serde(deserialize_with = "flag")]
    #[param(value_type = Option<String>, pattern = "^(true|false)?$", example = "true")]
    inline: bool,
    /// Of a directory: the format of an archive with all that is in it. Links and closed paths are left out.
    #[param(inline)]
    archive: Option<Format>,
    /// Of a list: the `next` of the page before.
    #[param(minimum = 0, maximum = 99_000)]
    after: Option<u64>,
    /// Of a list: the maximum number of entries; 100 if this is absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// The query parameters that say what is removed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RemoveParameters {
    /// Whether a directory is removed with all that is in it. Without this, it must be empty.
    #[serde(deserialize_with = "flag")]
    #[param(value_type = Option<String>, pattern = "^(true|false)?$", example = "true")]
    recursive: bool,
}

/// The content of a file or of an archive.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it is there for its description only")]
struct FileContent(Vec<u8>);

/// Reads a flag, which is set by its name alone as well.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match &*String::deserialize(deserializer)? {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        other => Err(D::Error::custom(format!(
            "{other:?} is neither true nor false"
        ))),
    }
}

/// Returns the problem of a server without files.
fn no_files() -> Problem {
    let detail = "this server offers no files: it was started with --files none";
    Problem::new(Kind::FILE_REFUSED, detail)
}

/// A client, and the files of its chat that a request is about.
struct Asked {
    chat: ChatId,
    path: String,
    files: ChatFiles,
}

impl Asked {
    /// Checks that a client may do what a user of this tool may, and opens the files of the chat.
    async fn of(
        host: &Host,
        principal: &Principal,
        chat: &str,
        path: String,
        tool: &str,
    ) -> Result<Self, Problem> {
        let chat: ChatId = chat.parse()?;
        // A client that only reads calls may not read files: they are more than the replies of tools.
        principal.require_chat_of(host, Scope::Call, &chat)?;
        let is_change = tool == WRITE_TOOL;
        if !principal.may_use(tool) {
            let detail = format!("this token may not use the tool {tool}");
            return Err(Problem::new(Kind::BOUNDED_TOKEN, detail));
        }
        match (host.files_grant(), is_change) {
            (FilesGrant::None, _) => return Err(no_files()),
            (FilesGrant::Read, true) => {
                let detail =
                    "files may be read here, not changed: the server was started with --files read";
                return Err(Problem::new(Kind::FILE_REFUSED, detail));
            }
            (FilesGrant::Read | FilesGrant::Write, _) => {}
        }
        if path.split('/').any(|part| part == "..") {
            let detail = "a path of a file has no part `..`";
            return Err(Problem::broken_request(detail));
        }
        let files = host.files_of(&chat, principal.actor(), is_change).await?;
        Ok(Self { chat, path, files })
    }
}

/// Lists the workspace of a chat, or downloads all of it
#[utoipa::path(
    get, path = "/v1/chats/{chat}/files", operation_id = "listFiles", tag = "files",
    params(ChatPath, ReadParameters),
    responses((status = 200, description = "The entries, or an archive.", content(
        (Listing = "application/json"), (FileContent = "application/x-tar"), (FileContent = "application/gzip"), (FileContent = "application/zip"),
    ))),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "bounded_token", "foreign_workspace", "unknown_workspace", "file_refused", "unknown_file",
        "file_conflict", "too_large", "workspace_unavailable", "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Extension(permit): Extension<RequestPermit>,
    Path(chat): Path<String>,
    Query(parameters): Query<ReadParameters>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = Asked::of(&host, &principal, &chat, ".".into(), READ_TOOL).await?;
    read(host, asked, permit, parameters, headers).await
}

/// Downloads a file, lists a directory, or downloads that as an archive
///
/// A file has its version as its `ETag`, and is sent in a stream; a single `Range` of bytes is possible. If it changes meanwhile, the
/// connection breaks: no client gets a mix of two versions.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/files/{*path}", operation_id = "getFile", tag = "files",
    params(
        ChatPath, FilePath, ReadParameters,
        ("If-None-Match" = Option<String>, Header, description = "The ETags of versions that the client has."),
        ("Range" = Option<String>, Header, description = "A range of bytes, such as `bytes=0-1023`."),
        ("If-Range" = Option<String>, Header, description = "The ETag of the version that the range is of; of another one, all bytes are sent."),
    ),
    responses(
        (status = 200, description = "The bytes of the file; the entries of a directory, or an archive of it.", content(
            (FileContent = "application/octet-stream"), (Listing = "application/json"), (FileContent = "*/*"),
        )),
        (status = 206, description = "The range of bytes.", content((FileContent = "*/*"))),
        (status = 304, description = "The client has this version."),
    ),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "bounded_token", "foreign_workspace", "unknown_workspace", "file_refused", "unknown_file",
        "file_conflict", "file_changed", "no_range", "too_large", "workspace_unavailable", "other_host", "host_lost", "host_unreachable",
        "unreadable"
    ]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Extension(permit): Extension<RequestPermit>,
    Path((chat, path)): Path<(String, String)>,
    Query(parameters): Query<ReadParameters>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = Asked::of(&host, &principal, &chat, path, READ_TOOL).await?;
    read(host, asked, permit, parameters, headers).await
}

async fn read(
    host: Host,
    asked: Asked,
    permit: RequestPermit,
    parameters: ReadParameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let limit = within("limit", parameters.limit.unwrap_or(PAGE), 1..=MAX_PAGE)?;
    let after = within(
        "after",
        parameters.after.unwrap_or(0),
        0..=MAX_RESULTS - MAX_PAGE,
    )?;
    let Asked { path, files, .. } = asked;
    let found = files
        .workspace()
        .metadata(path.clone(), Arc::default())
        .await;
    let found = found.map_err(|error| problem(&path, error))?;
    match (
        found.kind,
        parameters.archive.or_else(|| Format::accepted(&headers)),
    ) {
        (FileKind::Directory, Some(format)) => {
            archive::download(host, files, path, &found, format, &permit).await
        }
        (FileKind::Directory, None) => {
            let listing = Listing::of(&files, path, after, limit).await?;
            Ok(Json(listing).into_response())
        }
        (FileKind::File, _) if parameters.archive.is_some() => {
            let detail = format!("{path:?} is a file, and only a directory has an archive");
            Err(Problem::new(Kind::FILE_CONFLICT, detail))
        }
        (FileKind::File, _) => {
            let download = Download {
                host,
                files,
                path,
                found,
                is_inline: parameters.inline,
            };
            download.answer(&headers, &permit)
        }
        (FileKind::Symlink | FileKind::Other, _) => Err(refused(
            Kind::FILE_CONFLICT,
            &path,
            "neither a file nor a directory",
        )),
    }
}

/// Uploads a file
///
/// The body is the whole file, in a stream. The file is replaced at once when all of it is there: a client that breaks off leaves nothing.
/// Directories that are missing above it are made. Repeating the request is no error.
#[utoipa::path(
    put, path = "/v1/chats/{chat}/files/{*path}", operation_id = "putFile", tag = "files",
    params(
        ChatPath, FilePath,
        ("If-Match" = Option<String>, Header, description = "The ETag of the version that is replaced."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: there must be no such file yet."),
    ),
    request_body(content = FileContent, content_type = "application/octet-stream", description = "The file. A body of no bytes is an empty file."),
    responses(
        (status = 201, description = "The file is new.", headers(("etag" = String, description = "Its version."))),
        (status = 204, description = "The file was replaced.", headers(("etag" = String, description = "Its version."))),
    ),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "bounded_token", "foreign_workspace", "unknown_workspace", "file_refused", "not_approved",
        "unknown_file", "file_conflict", "file_changed", "disk_full", "workspace_unavailable", "other_host", "host_lost",
        "host_unreachable", "unreadable", "unrecorded", "shutting_down"
    ]))),
)]
async fn put(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Extension(permit): Extension<RequestPermit>,
    Extension(limit): Extension<FileLimit>,
    Path((chat, path)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    limit.check(request.headers())?;
    let asked = Asked::of(&host, &principal, &chat, path, WRITE_TOOL).await?;
    let Asked { chat, path, files } = asked;
    let old = conditions::existing(&files, &path).await?;
    let when = conditions::for_change(request.headers(), old.as_ref(), &path)?;
    let announced = upload::announced(request.headers());
    let arguments = json!({ "path": path, "bytes": announced });
    approve(&host, &principal, &chat, &arguments).await?;
    let written = upload::upload(&files, &path, when, request, limit, &permit).await?;
    host.count_file_bytes("received", written.size);
    let status = match old {
        Some(_) => StatusCode::NO_CONTENT,
        None => StatusCode::CREATED,
    };
    Ok((status, conditions::etag(&written.version)).into_response())
}

/// Removes a file or a directory
///
/// Of a link, the link itself is removed.
#[utoipa::path(
    delete, path = "/v1/chats/{chat}/files/{*path}", operation_id = "removeFile", tag = "files",
    params(
        ChatPath, FilePath, RemoveParameters,
        ("If-Match" = Option<String>, Header, description = "The ETag of the version that is removed."),
    ),
    responses((status = 204, description = "It is removed.")),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "bounded_token", "foreign_workspace", "unknown_workspace", "file_refused", "not_approved",
        "unknown_file", "file_conflict", "file_changed", "workspace_unavailable", "other_host", "host_lost", "host_unreachable",
        "unreadable", "unrecorded"
    ]))),
)]
async fn delete(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, path)): Path<(String, String)>,
    Query(RemoveParameters { recursive }): Query<RemoveParameters>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let asked = Asked::of(&host, &principal, &chat, path, WRITE_TOOL).await?;
    let Asked { chat, path, files } = asked;
    let when = match conditions::has_any(&headers) {
        true => {
            let old = conditions::existing(&files, &path).await?;
            conditions::for_change(&headers, old.as_ref(), &path)?
        }
        false => toolhost_workspace::files::Precondition::Any,
    };
    let arguments = json!({ "path": path, "delete": true, "recursive": recursive });
    approve(&host, &principal, &chat, &arguments).await?;
    let remove = RemoveFile {
        path: path.clone(),
        recursive,
        when,
    };
    let removed = files.workspace().run(&Context::default(), remove).await;
    removed.map_err(|error| match error {
        Error::NotEmpty if recursive => {
            let text = "not empty: what is closed to tools stays in it";
            refused(Kind::FILE_CONFLICT, &path, text)
        }
        error => problem(&path, error),
    })?;
    Ok(StatusCode::NO_CONTENT)
}

async fn approve(
    host: &Host,
    principal: &Principal,
    chat: &ChatId,
    arguments: &serde_json::Value,
) -> Result<(), Problem> {
    let approved = host.approve_files(chat, principal.actor(), arguments).await;
    approved.map_err(|reason| Problem::new(Kind::NOT_APPROVED, reason))
}
