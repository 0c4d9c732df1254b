//! `share_file`: a link by which the user gets a file.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_sdk::files::{Files, Host, SharedFile};
use toolhost_sdk::{Call, Content, Example, Hints, Reply, Schema, Tool, ToolError};

use crate::refusal::{self, Refusal};
use crate::time;

/// The shortest and the longest lifetime of a link, in seconds.
const MIN: u64 = 60;
const MAX: u64 = 7 * 24 * 60 * 60;

/// The tool.
#[derive(Debug)]
pub(crate) struct ShareFile;

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file to share: one file, no directory.
    path: String,
    /// How long the link works, such as "30m", "2h" or "7d", which is the most; 24h if not given.
    expires_in: Option<String>,
}

/// The reply.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Shared {
    /// The name of the file.
    name: String,
    /// In bytes.
    size: u64,
    media_type: String,
    /// The link, which needs no password.
    url: String,
    /// When the link ends, in UTC.
    expires: String,
}

impl Tool for ShareFile {
    const NAME: &'static str = "share_file";
    const TITLE: Option<&'static str> = Some("Share file");
    const DESCRIPTION: &'static str = "Give the user a file of the workspace, such as a report, a picture or an archive that you \
        made: replies with a link, which you pass on exactly as it is. Any bearer of the link gets the file, as it is then, until the \
        link expires. Of a directory, share an archive.";
    // A file that is out cannot be taken back, so the operator is asked as about any change.
    const HINTS: Hints = Hints::NONE;
    const EXAMPLES: &'static [Example] = &[
        Example {
            name: "a file that is not there",
            arguments: r#"{"path": "report.pdf", "expires_in": "2h"}"#,
            is_error: true,
        },
        Example {
            name: "a time that is none",
            arguments: r#"{"path": "report.pdf", "expires_in": "tomorrow"}"#,
            is_error: true,
        },
    ];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Shared>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        let shared = run(&Host, &arguments);
        let link = shared.as_ref().ok().map(Shared::link);
        let reply = refusal::reply(shared)?;
        Ok(match link {
            Some(link) => reply.and(link),
            None => reply,
        })
    }
}

pub(crate) fn run(files: &dyn Files, arguments: &Arguments) -> Result<Shared, Refusal> {
    let path = refusal::required(&arguments.path)?;
    let lifetime = lifetime(arguments.expires_in.as_deref())?;
    let shared = files.share(&path, lifetime);
    let shared = shared.map_err(|error| Refusal::opening(files, &path, error))?;
    Ok(shared.into())
}

/// Returns the lifetime that a model gave, in seconds.
fn lifetime(text: Option<&str>) -> Result<Option<u64>, Refusal> {
    let text = text.filter(|text| !text.trim().is_empty());
    let read = text.map(|text| {
        let seconds = time::milliseconds("expires_in", text)? / 1000;
        match (MIN..=MAX).contains(&seconds) {
            true => Ok(seconds),
            false => Err(Refusal::invalid(format!(
                "expires_in must be from 1m to 7d, and is {text:?}"
            ))),
        }
    });
    read.transpose()
}

impl Shared {
    /// Returns the link as a part of a reply, which clients show.
    fn link(&self) -> Content {
        Content::Document {
            uri: self.url.clone(),
            media_type: Some(self.media_type.clone()),
            data: None,
        }
    }
}

impl From<SharedFile> for Shared {
    fn from(shared: SharedFile) -> Self {
        Self {
            expires: time::written(shared.expires_ms),
            name: shared.name,
            size: shared.size,
            media_type: shared.media_type,
            url: shared.url,
        }
    }
}
