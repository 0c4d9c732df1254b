//! Links to files of chats: clients make them, and people without a token open them.

use std::path::Path as FsPath;
use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::header::{CACHE_CONTROL, REFERRER_POLICY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::problem;
use super::download::Download;
use super::{Asked, FileContent, flag, no_files};
use crate::v1::json_body;
use crate::v1::paths::ChatPath;
use toolhost_call::call::Actor;
use toolhost_call::sharing::{LIFETIMES, ShareError, SharedFile};
use toolhost_core::{Host, Link, LinkError, SHARE_TOOL, Target};
use toolhost_http::access::Principal;
use toolhost_http::limits::RequestPermit;
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::{time, whole};
use toolhost_state::unix_time;
use toolhost_workspace::files::{Error, FilesGrant, Kind as FileKind};

/// The address below which links are.
const LINKS: &str = "/v1/links/";

/// The largest body of a request for a link, in bytes: the longest path, of which JSON can make six bytes of one.
const MAX_BODY: usize = (6 * 4096) + 1024;

/// After how many seconds a chat that has shared too many files may try again.
const TRY_AGAIN: u64 = 60;

/// Returns the route on which clients make links.
pub(super) fn making() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(make))
}

/// Returns the route on which people open links, for requests that [`admitted`] lets in.
pub(crate) fn opening() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(open))
}

/// Lets a request in whose link this host or another one of its store has signed, and that has not expired. The link becomes an extension
/// of the request.
pub(crate) fn admitted(host: &Host, request: &mut Request) -> Result<(), Problem> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let detail = "a link is opened with GET or HEAD";
        return Err(Problem::new(Kind::METHOD_NOT_ALLOWED, detail));
    }
    let path = request.uri().path().strip_prefix(LINKS).unwrap_or_default();
    let text = path.split('/').next().unwrap_or_default();
    let verified = host.verify(text, unix_time::now_ms() / 1000);
    let verified = verified.and_then(|link| match link.target {
        Target::File(_) => Ok(link),
        Target::Port(_) => Err(LinkError::Foreign),
    });
    let link = verified.map_err(|error| {
        let kind = match error {
            LinkError::Foreign => Kind::UNKNOWN_LINK,
            LinkError::Expired => Kind::LINK_EXPIRED,
        };
        host.metrics().link_used("file", kind.code);
        Problem::new(kind, error.to_string())
    })?;
    request.extensions_mut().insert(link);
    Ok(())
}

/// A file that a client shares.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LinkRequest {
    /// The file: absolute, or relative to the workspace of the chat. No part of it is `..`.
    #[schema(
        min_length = 1,
        max_length = 4096,
        pattern = r"^(?!([\s\S]*/)?\.\.(/|$))[^\x00]+$",
        example = "report/summary.pdf"
    )]
    path: String,
    /// The lifetime of the link in seconds; a day if this is absent.
    #[serde(default, deserialize_with = "lifetime")]
    #[schema(minimum = 60, maximum = 604_800)]
    lifetime_secs: Option<u64>,
}

fn lifetime<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    let whole = |number| whole::read(number).map_err(serde::de::Error::custom);
    number.map(whole).transpose()
}

/// A link to a file.
#[derive(Serialize, ToSchema)]
struct FileLink {
    /// The address, which a person opens without a token.
    url: String,
    /// The end of the link, in seconds since 1970.
    expires_at_unix: u64,
    /// The name of the file.
    name: String,
    /// The size of the file in bytes.
    size: u64,
    /// The media type that the name stands for.
    media_type: &'static str,
}

impl From<SharedFile> for FileLink {
    fn from(shared: SharedFile) -> Self {
        Self {
            url: shared.url,
            expires_at_unix: time::unix(shared.expires_at),
            name: shared.name,
            size: shared.size,
            media_type: shared.media_type,
        }
    }
}

/// Makes a link to a file
///
/// A person who has the link gets the file without a token until the link expires, as the file is then. A link cannot be taken back: remove
/// or move the file.
#[utoipa::path(
    post, path = "/v1/chats/{chat}/links", operation_id = "shareFile", tag = "files",
    params(ChatPath),
    request_body = LinkRequest,
    responses((status = 201, description = "The link.", body = FileLink)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "bounded_token", "foreign_workspace", "unknown_workspace", "file_refused", "not_approved",
        "unknown_file", "file_conflict", "no_address", "workspace_unavailable", "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn make(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let asked = json_body::read(request, MAX_BODY).await?;
    let LinkRequest {
        path,
        lifetime_secs,
    } = asked.ok_or_else(|| Problem::broken_request("the body must be a JSON object"))?;
    let Asked { chat, path, files } = Asked::of(&host, &principal, &chat, path, SHARE_TOOL).await?;
    let actor = principal.actor();
    let lifetime = lifetime_secs;
    if let Some(wrong) = lifetime.filter(|lifetime| !LIFETIMES.contains(lifetime)) {
        return Err(refused(&path, ShareError::Lifetime(wrong)));
    }
    let approved = host.approve_share(&chat, actor, &path, lifetime).await;
    approved.map_err(|reason| Problem::new(Kind::NOT_APPROVED, reason))?;
    let shared = host.share_file(&chat, &files, actor, path.clone(), lifetime);
    let shared = shared.await.map_err(|error| refused(&path, error))?;
    Ok((StatusCode::CREATED, Json(FileLink::from(shared))).into_response())
}

fn refused(path: &str, error: ShareError) -> Problem {
    let kind = match error {
        ShareError::File(error) => return problem(path, error),
        ShareError::Lifetime(_) | ShareError::Path => Kind::BROKEN_REQUEST,
        ShareError::NoAddress => Kind::NO_ADDRESS,
        ShareError::TooMany => Kind::BUSY,
    };
    let problem = Problem::new(kind, error.to_string());
    match error {
        ShareError::TooMany => problem.retry_after(TRY_AGAIN),
        _ => problem,
    }
}

/// The address of a link.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it is there for its description only")]
struct LinkPath {
    /// The signed part of the link.
    #[param(
        min_length = 1,
        max_length = 8192,
        pattern = "^[A-Za-z0-9_-]+$",
        example = "kU3vYw"
    )]
    link: String,
    /// The name of the file, for the eyes of people alone.
    #[param(
        min_length = 1,
        max_length = 255,
        pattern = r"^(?!\.{1,2}$)[^/\x00]+$",
        example = "summary.pdf"
    )]
    name: String,
}

/// The query parameters of a link.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OpenParameters {
    /// Whether a browser shows the file in the place of saving it, if it is an image (but no SVG), a PDF or plain text.
    #[serde(deserialize_with = "flag")]
    #[param(value_type = Option<String>, pattern = "^(true|false)?$", example = "true")]
    inline: bool,
}

/// Opens a link to a file
///
/// The link takes the place of a token. The answer is that of `GET /v1/chats/{chat}/files/{path}` for the file.
#[utoipa::path(
    get, path = "/v1/links/{link}/{name}", operation_id = "openLink", tag = "files", security(()),
    params(
        LinkPath, OpenParameters,
        ("If-None-Match" = Option<String>, Header, description = "The ETags of versions that the client has."),
        ("Range" = Option<String>, Header, description = "A range of bytes, such as `bytes=0-1023`."),
        ("If-Range" = Option<String>, Header, description = "The ETag of the version that the range is of; of another one, all bytes are sent."),
    ),
    responses(
        (status = 200, description = "The bytes of the file.", content((FileContent = "*/*"))),
        (status = 206, description = "The range of bytes.", content((FileContent = "*/*"))),
        (status = 304, description = "The client has this version."),
    ),
    extensions(("x-problems" = json!([
        "unknown_link", "link_expired", "unknown_file", "file_changed", "no_range", "busy", "workspace_unavailable",
        "unknown_workspace", "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn open(
    State(host): State<Host>,
    Extension(link): Extension<Link>,
    Extension(permit): Extension<RequestPermit>,
    Query(OpenParameters { inline }): Query<OpenParameters>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let answer = answer(&host, &link, &permit, inline, &headers).await;
    let result = match &answer {
        Ok(answer) if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE => Kind::NO_RANGE.code,
        Ok(_) => "ok",
        Err(problem) => problem.code(),
    };
    host.link_used(&link, result);
    answer
}

async fn answer(
    host: &Host,
    link: &Link,
    permit: &RequestPermit,
    is_inline: bool,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    if host.files_grant() == FilesGrant::None {
        return Err(no_files());
    }
    let path = match &link.target {
        Target::File(path) => path.clone(),
        Target::Port(_) => {
            let detail = LinkError::Foreign.to_string();
            return Err(Problem::new(Kind::UNKNOWN_LINK, detail));
        }
    };
    // The link has the rights of its maker: those of a user of the tool, in this one chat.
    let actor = Actor::new(link.by.clone());
    let files = host.files_of(&link.chat, &actor, false).await?;
    let found = files.workspace().metadata(path.clone(), Arc::default());
    // The bearer of the link learns nothing of the workspace.
    let found = found.await.map_err(|error| match error {
        Error::Denied(_) | Error::OutsideWorkspace { .. } => problem(&path, Error::NotFound),
        error => problem(&path, error),
    })?;
    // A path that leads elsewhere by now is not what was shared.
    if found.kind != FileKind::File || found.path != FsPath::new(&path) {
        return Err(problem(&path, Error::NotFound));
    }
    let download = Download {
        host: host.clone(),
        files,
        is_inline: is_inline && is_shown(&path),
        path,
        found,
    };
    let mut answer = download.answer(headers, permit)?;
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(answer)
}

/// Returns whether a browser may show a file in the place of saving it.
fn is_shown(path: &str) -> bool {
    let kind = mime_guess::from_path(path).first();
    kind.is_some_and(
        |kind| match (kind.type_().as_str(), kind.subtype().as_str()) {
            ("image", "svg") => false,
            ("image", _) | ("application", "pdf") | ("text", "plain") => true,
            _ => false,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_show_what_runs_nothing() {
        for (path, expected) in [
            ("/w/a.png", true),
            ("/w/a.JPG", true),
            ("/w/a.pdf", true),
            ("/w/a.txt", true),
            ("/w/a.svg", false),
            ("/w/a.svgz", false),
            ("/w/a.html", false),
            ("/w/a.png.html", false),
            ("/w/a.js", false),
            ("/w/a.xml", false),
            ("/w/a", false),
        ] {
            assert_eq!(is_shown(path), expected, "{path}");
        }
    }

    #[test]
    fn a_lifetime_may_be_missing_null_or_written_with_a_point() {
        for (text, expected) in [
            (r#"{"path":"a"}"#, Some(None)),
            (r#"{"path":"a","lifetime_secs":null}"#, Some(None)),
            (r#"{"path":"a","lifetime_secs":60.0}"#, Some(Some(60))),
            (r#"{"path":"a","lifetime_secs":0.5}"#, None),
            (r#"{"path":"a","lifetime_secs":-1}"#, None),
            (r#"{"path":"a","other":1}"#, None),
        ] {
            let read = serde_json::from_str::<LinkRequest>(text);
            assert_eq!(read.ok().map(|read| read.lifetime_secs), expected, "{text}");
        }
    }
}
