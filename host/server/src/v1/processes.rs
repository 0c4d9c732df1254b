//! `/v1/chats/{chat}/processes`: the processes of a chat, their output, and signals.

mod input;

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::bytes::Bytes;
use super::pages::within;
use super::paths::{ChatPath, ProcessPath};
use crate::visibility::Visibility as _;
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::body;
use toolhost_http::guarded_body::Holding;
use toolhost_http::limits::{Held, RequestPermit};
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::process_values::{Process, ProcessStatus, SavedStatus, Survivor, unfinished};
use toolhost_http::time;
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::process::{self, Chunk, Info, Signal};

/// The default and the largest number of processes in a list.
const LIST: usize = 100;
const MAX_LIST: usize = 1000;

/// The default, the largest and the smallest number of bytes of output in a reply. The smallest has room for any character.
const PAGE: usize = 64 << 10;
const MAX_PAGE: usize = 4 << 20;
const MIN_PAGE: usize = 4;

/// The last cursor: the largest number that JSON has in every language.
pub(super) const MAX_CURSOR: u64 = (1 << 53) - 1;

/// The longest time that a client may give a process to end.
const MAX_GRACE: Duration = Duration::from_hours(1);

/// The largest body, in bytes.
const MAX_BODY: usize = 4 << 10;

/// The media type for the raw bytes of an output.
const RAW: &str = "application/octet-stream";

/// Where the bytes of a raw output begin, how many there are in all, and whether more can follow.
const OFFSET: HeaderName = HeaderName::from_static("toolhost-output-offset");
const TOTAL: HeaderName = HeaderName::from_static("toolhost-output-total");
const END: HeaderName = HeaderName::from_static("toolhost-output-end");

/// The headers of raw output.
pub(super) const HEADERS: [HeaderName; 3] = [OFFSET, TOTAL, END];

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(output))
        .routes(routes!(signal))
        .routes(routes!(input::input))
}

/// The query parameters that select processes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParameters {
    /// Whether to return only processes that run or linger; otherwise ended ones are included.
    running: Option<bool>,
    /// The maximum number of returned processes; 100 if this is absent.
    #[param(minimum = 0, maximum = 1000)]
    limit: Option<usize>,
}

/// The query parameters that select output.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OutputParameters {
    /// The cursor of the first byte; 0 if this is absent.
    #[param(minimum = 0, maximum = 9007199254740991_u64)]
    since: Option<u64>,
    /// The maximum number of bytes; 65,536 if this is absent.
    #[param(minimum = 4, maximum = 4194304)]
    max: Option<usize>,
}

/// The processes of a chat.
#[derive(Serialize, ToSchema)]
struct ProcessList {
    /// Running processes first, then lingering, then ended ones, each newest first.
    processes: Vec<Process>,
    /// The number of all processes, including those that are left out.
    total: usize,
}

/// A process with its survivors and its saved output.
#[derive(Serialize, ToSchema)]
struct ProcessDetails {
    #[serde(flatten)]
    process: Process,
    /// The processes that outlive its shell, at most 64 of them.
    survivors: Vec<Survivor>,
    /// How far the full copy of its output goes.
    saved: SavedStatus,
    /// Whether its standard input is open, so that `…/input` can write to it.
    takes_input: bool,
    /// What its terminal shows, or showed last; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    screen: Option<input::Screen>,
}

/// A stretch of the output of a process.
#[derive(Serialize, ToSchema)]
struct Output {
    /// The process.
    process: String,
    /// The cursor of the first byte. If it is greater than `since`, exactly the bytes between are no longer kept.
    offset: u64,
    /// How many bytes these are. The next begin at `offset` and this together.
    length: u64,
    #[serde(flatten)]
    bytes: Bytes,
    /// How many bytes were written so far.
    total_bytes: u64,
    /// Whether no output will follow.
    end: bool,
}

/// A signal for everything that a process started.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignalRequest {
    /// The signal.
    #[schema(schema_with = signals)]
    signal: String,
    /// With `terminate`: after how many milliseconds remaining processes are killed, at most an hour; 5,000 if this is absent.
    #[serde(default, deserialize_with = "time::read")]
    #[schema(minimum = 0, maximum = 3_600_000, value_type = Option<u64>)]
    grace_ms: Option<Duration>,
}

fn signals() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(Signal::NAMES.iter().copied()))
        .examples(["terminate"])
        .build()
}

/// The state of a process when a signal or an input has reached it.
#[derive(Serialize, ToSchema)]
struct Reached {
    /// The process.
    id: String,
    #[serde(flatten)]
    status: ProcessStatus,
}

/// Lists the processes of a chat
#[utoipa::path(
    get, path = "/v1/chats/{chat}/processes", operation_id = "listProcesses", tag = "processes",
    params(ChatPath, ListParameters),
    responses((status = 200, description = "The processes.", body = ProcessList)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
    Query(parameters): Query<ListParameters>,
) -> Result<Json<ProcessList>, Problem> {
    let chat = may_read(&host, &principal, &chat)?;
    let running = parameters.running.unwrap_or(false);
    let limit = within("limit", parameters.limit.unwrap_or(LIST), 0..=MAX_LIST)?;
    let workspace = host.seen_by(principal.actor(), host.workspace());
    let listed = workspace.list(Some(&chat), running, limit).await;
    let (infos, total) = listed.map_err(problem)?;
    Ok(Json(ProcessList {
        processes: infos.into_iter().map(described).collect(),
        total,
    }))
}

/// Returns the state of a process
#[utoipa::path(
    get, path = "/v1/chats/{chat}/processes/{process}", operation_id = "getProcess", tag = "processes",
    params(ChatPath, ProcessPath),
    responses((status = 200, description = "The process.", body = ProcessDetails)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "unknown_process", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, id)): Path<(String, String)>,
) -> Result<Json<ProcessDetails>, Problem> {
    let chat = may_read(&host, &principal, &chat)?;
    let workspace = host.seen_by(principal.actor(), host.workspace());
    let info = workspace.info(Some(&chat), &id).await.map_err(problem)?;
    let snapshot = workspace
        .snapshot(Some(&chat), &id)
        .await
        .map_err(problem)?;
    Ok(Json(ProcessDetails {
        process: described(info),
        survivors: snapshot.survivors.into_iter().map(Survivor::from).collect(),
        saved: snapshot.saved.into(),
        takes_input: snapshot.takes_input,
        screen: snapshot.screen.map(input::Screen::from),
    }))
}

/// Returns output of a process
///
/// From memory, or from the saved output. As text if the bytes are valid UTF-8, which is then cut between characters, else in
/// base64; or, with `Accept: application/octet-stream`, as they are, with the counts in headers.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/processes/{process}/output", operation_id = "getOutput", tag = "processes",
    params(ChatPath, ProcessPath, OutputParameters),
    responses((status = 200, description = "The output.", content(
        (Output = "application/json"), (Vec<u8> = "application/octet-stream"),
    ), headers(
        ("toolhost-output-offset" = u64, description = "Of raw output: the cursor of the first byte."),
        ("toolhost-output-total" = u64, description = "Of raw output: how many bytes were written so far."),
        ("toolhost-output-end" = bool, description = "Of raw output: whether nothing will follow."),
    ))),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "unknown_process", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn output(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Extension(place): Extension<RequestPermit>,
    Path((chat, id)): Path<(String, String)>,
    Query(parameters): Query<OutputParameters>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let chat = may_read(&host, &principal, &chat)?;
    let since = within("since", parameters.since.unwrap_or(0), 0..=MAX_CURSOR)?;
    let max = within("max", parameters.max.unwrap_or(PAGE), MIN_PAGE..=MAX_PAGE)?;
    let workspace = host.seen_by(principal.actor(), host.workspace());
    let mut held = Held::default();
    held.add(&place, max)?;
    let read = workspace.read(Some(&chat), &id, since, max).await;
    let chunk = read.map_err(problem)?;
    let reply = if wants_raw(&headers) {
        raw(chunk)
    } else {
        json(id, chunk)
    };
    Ok(reply.map(|body| Body::new(Holding::new(body, held))))
}

/// Returns output as JSON.
fn json(id: String, mut chunk: Chunk) -> Response {
    let unfinished = unfinished(&chunk.data);
    if !chunk.end && unfinished < chunk.data.len() {
        chunk.data.truncate(chunk.data.len() - unfinished);
    }
    Json(Output {
        process: id,
        offset: chunk.offset,
        length: chunk.data.len() as u64,
        bytes: Bytes::from(chunk.data),
        total_bytes: chunk.total,
        end: chunk.end,
    })
    .into_response()
}

/// Sends a signal to a process
///
/// The signal reaches everything that the process started. The reply has the status of the process at that time. A process that
/// has already ended is no error.
#[utoipa::path(
    post, path = "/v1/chats/{chat}/processes/{process}/signal", operation_id = "signalProcess", tag = "processes",
    params(ChatPath, ProcessPath),
    request_body = SignalRequest,
    responses((status = 200, description = "How the process stood.", body = Reached)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "unknown_process", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn signal(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, id)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Call, &chat)?;
    let asked: SignalRequest = asked(request, MAX_BODY).await?;
    let signal: Signal = asked.signal.parse().map_err(Problem::broken_request)?;
    if asked.grace_ms.is_some_and(|grace| grace > MAX_GRACE) {
        let detail = format!("grace_ms is at most {}", MAX_GRACE.as_millis());
        return Err(Problem::broken_request(detail));
    }
    let state = host
        .signal(&chat, &id, signal, asked.grace_ms, principal.actor())
        .await;
    let status = ProcessStatus::from(&state.map_err(problem)?);
    Ok(Json(Reached { id, status }).into_response())
}

/// Reads the body of a request, of at most this many bytes.
pub(super) async fn asked<T: DeserializeOwned>(request: Request, max: usize) -> Result<T, Problem> {
    let body = body::read(request, max).await?;
    serde_json::from_slice(&body.bytes).map_err(|error| {
        Problem::broken_request(format!("the body is not what this takes: {error}"))
    })
}

/// Describes a process with the call that started it.
pub(super) fn described(info: Info) -> Process {
    let call = info.key.as_deref().and_then(CallId::of_start_key);
    Process::new(info, call)
}

fn may_read(host: &Host, principal: &Principal, chat: &str) -> Result<ChatId, Problem> {
    let chat = chat.parse()?;
    principal.require_chat_of(host, Scope::Read, &chat)?;
    Ok(chat)
}

/// Returns whether a client asks for raw bytes by their media type.
fn wants_raw(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let kinds = accepted.filter_map(|value| value.to_str().ok());
    kinds
        .flat_map(|value| value.split(','))
        .filter_map(|kind| kind.split(';').next())
        .any(|kind| kind.trim().eq_ignore_ascii_case(RAW))
}

fn raw(chunk: Chunk) -> Response {
    let headers = [
        (CONTENT_TYPE, RAW.to_owned()),
        (OFFSET, chunk.offset.to_string()),
        (TOTAL, chunk.total.to_string()),
        (END, chunk.end.to_string()),
    ];
    (headers, chunk.data).into_response()
}

/// Returns the problem for a failed operation on a process.
pub(super) fn problem(error: process::Error) -> Problem {
    let kind = match &error {
        // A process of another chat does not exist in this one.
        process::Error::NotFound(_) => Kind::UNKNOWN_PROCESS,
        process::Error::Invalid(_) => Kind::BROKEN_REQUEST,
        process::Error::Failed(_) => Kind::INTERNAL,
        process::Error::Closed => Kind::SHUTTING_DOWN,
        _ => return error.into(),
    };
    Problem::new(kind, error.to_string())
}
