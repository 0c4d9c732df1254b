//! `POST /v1/chats/{chat}/processes/{process}/input`: typing into a process, and what its terminal shows.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ChatPath, ProcessPath, Reached, asked, problem};
use crate::visibility::Visibility as _;
use toolhost_core::{Host, INPUT_TOOL, InputError};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::process_values::ProcessStatus;
use toolhost_http::whole;
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{self, Error, Input, MAX_INPUT};

/// The largest body, in bytes: the longest input, of which JSON can make six bytes of one, or base64 four of three.
const MAX_BODY: usize = 6 * MAX_INPUT + (4 << 10);

/// The longest `id`, in characters.
const MAX_ID: usize = 256;

/// Base64 with padding, whose last character may have bits that stand for nothing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// What is done to the standard input of a process: all of these, in the order `size`, `text`, `base64`, `close`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InputRequest {
    /// Names this input among the latest 64 of the process: a repeat does nothing.
    #[schema(max_length = 256)]
    id: Option<String>,
    /// The size that the terminal gets.
    size: Option<Size>,
    /// The text to write. In a terminal, a carriage return is the key Enter, and U+0003 is Ctrl-C.
    text: Option<String>,
    /// Bytes to write, in base64.
    #[schema(pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")]
    base64: Option<String>,
    /// Whether the input ends after that. In a terminal, this presses Ctrl-D.
    close: bool,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Size {
    #[serde(deserialize_with = "whole::read")]
    #[schema(minimum = 2, maximum = 100)]
    rows: u16,
    #[serde(deserialize_with = "whole::read")]
    #[schema(minimum = 2, maximum = 300)]
    columns: u16,
}

/// What a terminal shows.
#[derive(Serialize, ToSchema)]
pub(super) struct Screen {
    rows: u16,
    columns: u16,
    /// Its rows, with line feeds between them. Spaces at the ends of rows and empty rows at the end are left out.
    text: String,
    /// The row of the cursor, from 1; absent if it is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor_row: Option<u16>,
    /// The column of the cursor, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor_column: Option<u16>,
    /// The title that a program gave it; absent if none did.
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    /// Whether a program uses all of it, such as an editor.
    full: bool,
    /// Whether the program has asked for the other sequences of the arrow keys, such as `ESC O A` for `ESC [ A` (DECCKM).
    application_keys: bool,
}

impl From<process::Screen> for Screen {
    fn from(screen: process::Screen) -> Self {
        Self {
            rows: screen.size.rows,
            columns: screen.size.columns,
            text: screen.text,
            cursor_row: screen.cursor.map(|(row, _)| row),
            cursor_column: screen.cursor.map(|(_, column)| column),
            title: screen.title,
            full: screen.alternate,
            application_keys: screen.application_keys,
        }
    }
}

impl InputRequest {
    /// Returns what is to be done, each with its key.
    fn inputs(self) -> Result<Vec<(Input, Option<String>)>, Problem> {
        if self
            .id
            .as_ref()
            .is_some_and(|id| id.chars().count() > MAX_ID)
        {
            let text = format!("id has at most {MAX_ID} characters");
            return Err(Problem::broken_request(text));
        }
        let size = self
            .size
            .map(|Size { rows, columns }| process::Size { rows, columns });
        if let Some(size) = size {
            size.check().map_err(problem)?;
        }
        let mut bytes = self.text.unwrap_or_default().into_bytes();
        let base64 = self.base64.unwrap_or_default();
        let decoded = BASE64.decode_vec(base64, &mut bytes);
        decoded.map_err(|error| Problem::broken_request(format!("base64 is none: {error}")))?;
        if bytes.len() > MAX_INPUT {
            let text = format!("an input has at most {MAX_INPUT} bytes");
            return Err(Problem::broken_request(text));
        }
        let key = |part| self.id.as_ref().map(|id| format!("{part} {id}"));
        let inputs = [
            size.map(|size| (Input::Resize(size), key("size"))),
            (!bytes.is_empty()).then(|| (Input::Bytes(bytes), key("bytes"))),
            self.close.then(|| (Input::Close, key("close"))),
        ];
        Ok(inputs.into_iter().flatten().collect())
    }
}

/// Writes to the standard input of a process
///
/// The process was started with an open input or a terminal. The reply comes when all is written, and has the status of the process at that
/// time; what the program makes of it is in its output and, of a terminal, on its screen.
#[utoipa::path(
    post, path = "/v1/chats/{chat}/processes/{process}/input", operation_id = "writeInput", tag = "processes",
    params(ChatPath, ProcessPath),
    request_body = InputRequest,
    responses((status = 200, description = "How the process stands.", body = Reached)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "bounded_token", "foreign_workspace", "not_approved", "unknown_process", "no_input",
        "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
pub(super) async fn input(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, id)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Call, &chat)?;
    if !principal.may_use(INPUT_TOOL) {
        let detail = format!("this token may not use the tool {INPUT_TOOL}");
        return Err(Problem::new(Kind::BOUNDED_TOKEN, detail));
    }
    let asked: InputRequest = asked(request, MAX_BODY).await?;
    let workspace = host.seen_by(principal.actor(), host.workspace());
    let info = workspace.info(Some(&chat), &id).await.map_err(problem)?;
    let mut state = info.state;
    for (input, key) in asked.inputs()? {
        let done = host.input(&chat, &id, input, key, principal.actor()).await;
        state = done.map_err(|error| match error {
            InputError::NotApproved(text) => Problem::new(Kind::NOT_APPROVED, text),
            InputError::Process(error @ (Error::Invalid(_) | Error::Failed(_))) => {
                Problem::new(Kind::NO_INPUT, error.to_string())
            }
            InputError::Process(error) => problem(error),
        })?;
    }
    let status = ProcessStatus::from(&state);
    Ok(Json(Reached { id, status }).into_response())
}
