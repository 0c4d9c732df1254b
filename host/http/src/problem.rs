//! Errors as problem documents (RFC 9457), and the one place that maps failures to status codes.

mod kinds;

use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

pub use kinds::{KINDS, Kind};
use toolhost_call::call::{CallError, OtherHost, Refused, WorkspaceError};
use toolhost_state::id::InvalidId;
use toolhost_state::workspace_name::InvalidWorkspaceName;
use toolhost_workspace::process;

/// The prefix of the `type` of a problem; its code follows.
pub(super) const URN: &str = "urn:toolhost:problem:";

/// The most bytes of a detail. It is bounded because it quotes texts of clients.
const MAX_DETAIL: usize = 2048;

/// The default values of `Retry-After`, in seconds: `SOON` when a permit is soon free, `LATER` when a service is unavailable.
const SOON: u64 = 1;
const LATER: u64 = 5;

/// A problem as clients read it (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Document<'a> {
    /// The kind of problem, which stays the same: `urn:toolhost:problem:` and the code.
    #[schema(value_type = String, format = "uri")]
    r#type: String,
    /// The meaning of all problems of this kind.
    title: &'a str,
    /// The status code of the response.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// A word for programs; the list is closed.
    #[schema(schema_with = codes)]
    code: &'a str,
    /// The error in this request, and its remedy.
    detail: &'a str,
}

fn codes() -> utoipa::openapi::schema::Object {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::Type::String)
        .enum_values(Some(KINDS.iter().map(|kind| kind.code)))
        .build()
}

/// The detail of a problem, as an extension of the error response, for a layer that answers in another format.
#[derive(Clone, Debug)]
pub struct Detail(pub String);

/// The host that has what the request asks for, as an extension of the error response, for a layer that sends the request there.
#[derive(Clone, Debug)]
pub struct AtHost(pub OtherHost);

/// The header with the URL of the host that has what the request asks for.
const HOST: HeaderName = HeaderName::from_static("toolhost-host");

/// An error response.
#[derive(Debug)]
pub struct Problem {
    kind: Kind,
    /// The status of the response, which is not that of the kind if another layer chose it.
    status: StatusCode,
    detail: String,
    /// The seconds after which a retry is worthwhile.
    retry_after: Option<u64>,
    /// The host that has what the request asks for.
    host: Option<Box<OtherHost>>,
}

impl Problem {
    /// Makes a problem of this kind. A detail of more than 2 KiB is cut.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if detail.len() > MAX_DETAIL {
            detail.truncate(detail.floor_char_boundary(MAX_DETAIL));
            detail.push('…');
        }
        let status = StatusCode::from_u16(kind.status);
        Self {
            kind,
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            detail,
            retry_after: None,
            host: None,
        }
    }

    /// Tells the client to retry after this many seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        let retry_after = Some(seconds);
        Self {
            retry_after,
            ..self
        }
    }

    /// Returns the detail of the problem, for callers that answer in another format.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the word for programs.
    pub fn code(&self) -> &'static str {
        self.kind.code
    }

    /// Returns the seconds after which a retry is worthwhile; `None` if none is.
    pub fn seconds(&self) -> Option<u64> {
        self.retry_after
    }

    /// Makes the problem of a malformed request; status 400.
    pub fn broken_request(detail: impl Into<String>) -> Self {
        Self::new(Kind::BROKEN_REQUEST, detail)
    }

    /// Makes the problem of a server without free capacity, which has run nothing; status 429.
    pub(super) fn busy(detail: impl Into<String>) -> Self {
        Self::new(Kind::BUSY, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Kind { code, title, .. } = self.kind;
        let document = Document {
            r#type: format!("{URN}{code}"),
            title,
            status: self.status.as_u16(),
            code,
            detail: &self.detail,
        };
        let mut response = (self.status, axum::Json(document)).into_response();
        response.extensions_mut().insert(Detail(self.detail));
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        let retry_after = self.retry_after.or(match self.status {
            StatusCode::TOO_MANY_REQUESTS => Some(SOON),
            StatusCode::SERVICE_UNAVAILABLE => Some(LATER),
            _ => None,
        });
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        let address = self.host.as_ref().and_then(|host| host.address.as_deref());
        if let Some(address) = address.and_then(|address| HeaderValue::from_str(address).ok()) {
            headers.insert(HOST, address);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(
                axum::http::header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer"),
            );
        }
        if let Some(host) = self.host {
            response.extensions_mut().insert(AtHost(*host));
        }
        response
    }
}

impl From<InvalidId> for Problem {
    fn from(error: InvalidId) -> Self {
        Self::broken_request(error.to_string())
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match error {
            // The error also knows the names of other tools. They are left out, because not every client may see them.
            CallError::UnknownTool { name, .. } => {
                Self::new(Kind::NOT_FOUND, format!("there is no tool {name:?}"))
            }
            CallError::Refused(refused) => refused.into(),
            CallError::Workspace(error) => error.into(),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let kind = match &refused {
            Refused::InputMismatch => Kind::INPUT_MISMATCH,
            Refused::Cancelled => Kind::CANCELLED,
            Refused::Gone => Kind::GONE,
            Refused::Busy(_) => Kind::BUSY,
            Refused::Quarantined { .. } => Kind::QUARANTINED,
            Refused::Loading(_) => Kind::LOADING,
            Refused::Unrecorded(_) => Kind::UNRECORDED,
            Refused::Unreadable(_) => Kind::UNREADABLE,
            Refused::Workspace(error) => return error.clone().into(),
            Refused::Closed => Kind::SHUTTING_DOWN,
        };
        Self {
            retry_after: refused.retry_after(),
            ..Self::new(kind, refused.to_string())
        }
    }
}

impl From<InvalidWorkspaceName> for Problem {
    fn from(error: InvalidWorkspaceName) -> Self {
        Self::broken_request(error.to_string())
    }
}

impl From<WorkspaceError> for Problem {
    fn from(error: WorkspaceError) -> Self {
        let kind = match &error {
            WorkspaceError::UnknownWorkspace(_) => Kind::UNKNOWN_WORKSPACE,
            WorkspaceError::ForeignWorkspace | WorkspaceError::ForeignTemplate(_) => {
                Kind::FOREIGN_WORKSPACE
            }
            WorkspaceError::BoundedActor => Kind::BOUNDED_TOKEN,
            WorkspaceError::ChatBound { .. } => Kind::CHAT_BOUND,
            WorkspaceError::OtherHost { .. } | WorkspaceError::AgentElsewhere { .. } => {
                Kind::OTHER_HOST
            }
            WorkspaceError::WorkspaceExists(_) => Kind::WORKSPACE_EXISTS,
            WorkspaceError::WorkspaceInUse { .. } => Kind::WORKSPACE_IN_USE,
            WorkspaceError::DefaultWorkspace => Kind::DEFAULT_WORKSPACE,
            WorkspaceError::InvalidWorkspace(_) => Kind::BROKEN_REQUEST,
            WorkspaceError::NoProvider(_) => Kind::NO_PROVIDER,
            WorkspaceError::Changing(_) | WorkspaceError::TooManyWorkspaces(_) => Kind::BUSY,
            WorkspaceError::WorkspaceFailed { .. }
            | WorkspaceError::Unreachable(_)
            | WorkspaceError::Stopped(_)
            | WorkspaceError::NotApproved { .. } => Kind::WORKSPACE_UNAVAILABLE,
            WorkspaceError::Unrecorded(_) => Kind::UNRECORDED,
        };
        let mut problem = Self::new(kind, error.to_string());
        problem.host = error.other_host().cloned().map(Box::new);
        problem.retry_after = error.retry_after();
        problem
    }
}

impl From<process::Error> for Problem {
    fn from(error: process::Error) -> Self {
        Self::new(Kind::WORKSPACE_UNAVAILABLE, error.to_string())
    }
}

/// Answers requests for unknown paths.
pub async fn no_route(request: Request) -> Problem {
    let detail = format!("there is nothing at {}", request.uri().path());
    Problem::new(Kind::NOT_FOUND, detail)
}

/// Answers requests with a method that their path does not support.
pub async fn no_method(request: Request) -> Problem {
    let detail = format!(
        "{} is not possible at {}",
        request.method(),
        request.uri().path()
    );
    Problem::new(Kind::METHOD_NOT_ALLOWED, detail)
}

/// Turns error responses of the web framework and of the MCP library into problem documents. Those are plain text or have no
/// type.
pub(super) async fn in_a_body(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let plain = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !plain || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    const MAX_TEXT: usize = 4096;
    let (mut parts, body) = response.into_parts();
    let text = axum::body::to_bytes(body, MAX_TEXT).await;
    let text = text.unwrap_or_default();
    let detail = match String::from_utf8_lossy(&text) {
        text if text.is_empty() => status.canonical_reason().unwrap_or("it failed").into(),
        text => text,
    };
    let kind = match status {
        StatusCode::PAYLOAD_TOO_LARGE => Kind::TOO_LARGE,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Kind::UNSUPPORTED_MEDIA_TYPE,
        StatusCode::NOT_FOUND => Kind::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED => Kind::METHOD_NOT_ALLOWED,
        StatusCode::NOT_ACCEPTABLE => Kind::NOT_ACCEPTABLE,
        _ if status.is_client_error() => Kind::BROKEN_REQUEST,
        _ => Kind::INTERNAL,
    };
    let problem = Problem {
        status,
        ..Problem::new(kind, detail)
    };
    let mut problem = problem.into_response();
    // Keep the other headers of the response, such as `Allow`.
    parts.headers.remove(CONTENT_LENGTH);
    for (name, value) in problem.headers() {
        parts.headers.insert(name, value.clone());
    }
    std::mem::swap(problem.headers_mut(), &mut parts.headers);
    problem
}
