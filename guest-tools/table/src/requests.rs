//! HTTP requests.

use serde_json::json;
use toolhost_sdk::http::{Host, Http, Request};
use toolhost_sdk::prelude::*;

/// Gets what is at an address.
#[tool(read_only)]
pub(crate) fn get(
    /// The address.
    url: String,
) -> Result<Reply, ToolError> {
    let body = json!({ "k": "é" }).to_string();
    let request = Request::post(url, "application/json", body).header("X-Asked", "yes");
    let response = Host.send(&request)?;
    Reply::json(&json!({
        "status": response.status,
        "type": response.header("content-type"),
        "text": response.text(),
    }))
}
