//! The texts for a model about an operation that is not possible.

use serde::Serialize;
use toolhost_sdk::files::Error;
use toolhost_sdk::{Reply, ToolError, context};

/// Why a tool does not do what it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The tool ran, and this is what it reports.
    Report(String),
    /// It could not run.
    Error(ToolError),
}

impl Refusal {
    pub(crate) fn report(text: impl Into<String>) -> Self {
        Self::Report(text.into())
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::Error(ToolError::InvalidArguments(text.into()))
    }

    /// Says what is wrong with a path.
    pub(crate) fn of(path: &str, error: Error) -> Self {
        match error {
            // A grant that is missing, or a workspace that is not there, is not about this path.
            Error::Denied(_) if !is_permission(&error) => Self::Error(error.into()),
            Error::Unavailable(_) | Error::UnknownOutcome(_) => Self::Error(error.into()),
            error => Self::Report(about(path, &error)),
        }
    }
}

/// Gives what came of a call the form of a reply, or of an error.
pub(crate) fn reply(result: Result<impl Serialize, Refusal>) -> Result<Reply, ToolError> {
    match result {
        Ok(value) => Reply::json(&value),
        Err(Refusal::Report(text)) => Ok(Reply::error(text)),
        Err(Refusal::Error(error)) => Err(error),
    }
}

/// Returns the path that a model means: blanks around it are none of it.
pub(crate) fn required(path: &str) -> Result<&str, Refusal> {
    match path.trim() {
        "" => Err(Refusal::invalid("path is required")),
        path => Ok(path),
    }
}

/// What the operating system refuses is about the path; what the operator did not grant is about the plugin, and says so.
fn is_permission(error: &Error) -> bool {
    !error.to_string().starts_with("this plugin")
}

/// Returns what is wrong with a path, in the words of the reference where it has some.
pub(crate) fn about(path: &str, error: &Error) -> String {
    match error {
        Error::NotFound => format!("file does not exist: {path}"),
        Error::NotAFile => format!("not a file: {path}"),
        Error::NotADirectory => format!("not a directory: {path}"),
        Error::OutsideWorkspace(_) => {
            let root = context::workspace_root();
            format!("{path} is outside of the workspace; use paths in {root}")
        }
        error => format!("{error}: {path}"),
    }
}
