//! `POST /api/v0/workspace/connect/{chat}/{port}`: a connection to a TCP port on which a command of a chat listens.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use toolhost_agent::{ApiError, Watched, json};
use toolhost_state::id::ChatId;
use toolhost_workspace::process::Error;

use super::Agent;
use crate::names::STREAM;
use crate::stream::carry;

/// The body of the request goes to the server, and the body of the answer comes from it. An answer in JSON says why there is no connection.
pub(super) async fn connect(
    State(agent): State<Agent>,
    Path((chat, port)): Path<(String, String)>,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    agent.check(request.headers())?;
    let invalid = |error: &dyn std::fmt::Display| {
        ApiError::bad_request("The connection cannot be made.").detail(error.to_string())
    };
    let chat: ChatId = chat.parse().map_err(|error| invalid(&error))?;
    let port: u16 = port.parse().map_err(|error| invalid(&error))?;
    let workspace = watched.of(Some(&chat));
    let workspace = workspace.workspace(Arc::clone(&agent.workspace));
    let connection = match workspace.connect(&chat, port).await {
        Ok(connection) => connection,
        Err(error) => return Ok(json(StatusCode::OK, &Err::<(), Error>(error))),
    };
    let carrying = carry(connection, request.into_body());
    let headers = [(CONTENT_TYPE, STREAM), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(carrying)).into_response())
}
