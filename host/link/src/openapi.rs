//! `GET /api/v0/openapi.json`: a description of the agent API.
//!
//! A test makes it of the types of the operations and of a table of the reference's routes. The agent has it as text: code that makes
//! schemas would be a twentieth of that program.

#[cfg(test)]
mod describe;
#[cfg(test)]
mod reference;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// The description, with a line for each path and each schema.
static DESCRIPTION: &str = include_str!("openapi/description.json");

pub(super) async fn description() -> Response {
    let headers = [(CONTENT_TYPE, "application/json")];
    (headers, DESCRIPTION).into_response()
}
