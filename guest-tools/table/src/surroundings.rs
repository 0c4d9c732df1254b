//! The surroundings of a call: its host as the call sees it, and messages to the host.

use std::time::Duration;

use serde_json::json;
use toolhost_sdk::prelude::*;
use toolhost_sdk::{context, log, progress, settings};

/// Writes to the log, and reports progress.
#[tool(read_only)]
#[expect(clippy::print_stdout, reason = "the table has a row for it")]
pub(crate) fn tell() -> &'static str {
    for write in [log::debug, log::info, log::warn, log::error] {
        write("told é");
    }
    println!("printed é");
    progress::report(0.0, Some(2.0), None);
    progress::report(1.0, Some(2.0), Some("half é"));
    progress::report(2.0, Some(2.0), None);
    "told"
}

/// Says what the call sees of its host.
#[tool(read_only)]
pub(crate) fn surroundings() -> Result<Reply, ToolError> {
    let remaining = context::remaining();
    let secret = settings::secret("key");
    Reply::json(&json!({
        "chat": context::chat(),
        "root": context::workspace_root(),
        "has_time": Duration::ZERO < remaining && remaining <= Duration::from_hours(1),
        "cancelled": context::cancelled(),
        "locale": context::attribute("locale"),
        "setting": settings::get("setting"),
        "other": settings::get("other").unwrap_or_else(|| "default".into()),
        "secret": secret.unwrap_or_else(|reason| reason),
    }))
}
