//! `PUT /v1/chats/{chat}/calls/{call}`: runs a call, or returns what came of it.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::call::{Arguments, Request};
use crate::host::Host;
use crate::server::body::{self, BodyError};
use crate::server::problem::Problem;

/// What a client sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallBody<'a> {
    /// The name of the tool.
    tool: String,
    /// The arguments; absent: none.
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    /// What the client says about itself.
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(put))
}

#[utoipa::path(put, path = "/v1/chats/{chat}/calls/{call}", operation_id = "callTool", tag = "calls", params(
    ("chat" = String, Path), ("call" = String, Path),
))]
async fn put(
    State(host): State<Host>,
    Path((chat, call)): Path<(String, String)>,
    request: HttpRequest,
) -> Result<Response, Problem> {
    let (chat, id) = (chat.parse()?, call.parse()?);
    let body = match body::read(request).await {
        Ok(body) => body,
        Err(BodyError::Refused(rejection)) => return Ok(rejection.into_response()),
        Err(error @ BodyError::Slow) => {
            let status = StatusCode::REQUEST_TIMEOUT;
            return Err(Problem::new(status, "slow_body", error.to_string()));
        }
    };
    let body: CallBody<'_> = serde_json::from_slice(&body).map_err(|error| {
        Problem::broken_request(format!("the body is not what this takes: {error}"))
    })?;
    let arguments = Arguments::parse(body.arguments.map_or("{}", RawValue::get))?;
    let request = Request {
        chat,
        id,
        tool: body.tool,
        arguments,
        attributes: body.attributes,
        max_wait: None,
    };
    // Dropped if the client goes away; the call goes on, and a repeat of the request attaches to it.
    let outcome = host.call(request).await?;
    Ok(Json(outcome.as_ref()).into_response())
}
