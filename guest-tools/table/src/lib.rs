//! The tools of the table in Rust: what every language must do alike. `tests/languages/table` has the others.

mod commands;
mod files;
mod limits;
mod requests;
mod surroundings;

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::prelude::*;

/// Repeats a text.
#[tool(
    title = "Echo",
    read_only,
    non_destructive,
    idempotent,
    max_duration = "60s",
    example("once", r#"{"text": "a"}"#)
)]
fn echo(
    /// The text.
    text: String,
    /// How often.
    times: Option<u32>,
    note: Option<String>,
) -> Result<String, ToolError> {
    match times.unwrap_or(1) {
        times @ 1..=3 => Ok(text.repeat(times as usize) + &note.unwrap_or_default()),
        _ => Err(ToolError::InvalidArguments("`times` is from 1 to 3".into())),
    }
}

/// Replies with a text of this many KiB.
#[tool(read_only)]
fn big(kib: u32) -> String {
    "x".repeat((kib as usize) << 10)
}

/// Replies with parts of every kind.
#[tool(read_only)]
fn parts() -> Result<Reply, ToolError> {
    let document = |uri: &str, media_type: Option<&str>, data: Option<&[u8]>| Content::Document {
        uri: uri.into(),
        media_type: media_type.map(Into::into),
        data: data.map(Into::into),
    };
    let reply = Reply::text("é").and_json(&serde_json::json!({ "ü": [1, null] }))?;
    let image = Content::Image {
        media_type: "image/png".into(),
        data: vec![0, 255],
    };
    Ok(reply
        .and(image)
        .and(document("docs:a", Some("text/plain"), Some(b"d")))
        .and(document("docs:b", None, None)))
}

/// A way to fail.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum How {
    Invalid,
    Denied,
    Unavailable,
    Failed,
    Reply,
    Broken,
}

/// Fails in one of several ways.
#[tool(read_only)]
fn fail(
    /// The way.
    how: How,
) -> Result<Reply, ToolError> {
    match how {
        How::Invalid => Err(ToolError::InvalidArguments("é invalid".into())),
        How::Denied => Err(ToolError::Denied("é denied".into())),
        How::Unavailable => Err(ToolError::Unavailable("é unavailable".into())),
        How::Failed => Err(ToolError::Failed("é failed".into())),
        How::Reply => Ok(Reply::error("é reply")),
        How::Broken => limits::broken(),
    }
}

export_tools!(
    echo,
    big,
    parts,
    fail,
    surroundings::tell,
    surroundings::surroundings,
    limits::spin,
    limits::hoard,
    commands::shell,
    commands::background,
    files::store,
    requests::get,
);
