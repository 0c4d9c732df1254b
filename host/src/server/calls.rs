//! `PUT /v1/chats/{chat}/calls/{call}`: runs a call, or returns what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Path, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::problem::Problem;
use crate::call::{Arguments, Request};
use crate::host::Host;

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_secs(30);

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

pub(super) async fn put(
    State(host): State<Host>,
    Path((chat, call)): Path<(String, String)>,
    request: HttpRequest<Body>,
) -> Result<Response, Problem> {
    let (chat, id) = (chat.parse()?, call.parse()?);
    let body = match tokio::time::timeout(BODY_TIME, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return Ok(rejection.into_response()),
        Err(_) => {
            return Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "slow_body",
                "the body took too long",
            ));
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
    };
    // Dropped if the client goes away; the call goes on, and a repeat of the request attaches to it.
    let outcome = host.call(request).await?;
    Ok(Json(outcome.as_ref()).into_response())
}
