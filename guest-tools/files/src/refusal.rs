//! The texts for a model about an operation that is not possible.

use std::borrow::Cow;

use serde::Serialize;
use toolhost_edit::encoding::Encoding;
use toolhost_sdk::files::{Error, Files, Kind};
use toolhost_sdk::{Reply, ToolError, context, likeness, paths};

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

    /// Says what is wrong with a path that is opened, and what may have been meant.
    pub(crate) fn opening(files: &dyn Files, path: &str, error: Error) -> Self {
        let hint = match &error {
            Error::NotFound => missing(files, path).map(|hint| format!("; {hint}")),
            Error::NotAFile if files.read_directory(path, None, 1).is_ok() => {
                Some(" (it is a directory)".to_owned())
            }
            _ => None,
        };
        match (Self::of(path, error), hint) {
            (Self::Report(text), Some(hint)) => Self::Report(text + &hint),
            (refusal, _) => refusal,
        }
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

/// Returns the path that a model means.
pub(crate) fn required(path: &str) -> Result<Cow<'_, str>, Refusal> {
    if path.is_empty() {
        return Err(Refusal::invalid("path is required"));
    }
    paths::understand(path).map_err(Refusal::Report)
}

/// Returns a number that a model gave.
pub(crate) fn number(name: &str, number: Option<i64>) -> Result<Option<u64>, Refusal> {
    let checked = number.map(|number| {
        u64::try_from(number)
            .map_err(|_| Refusal::invalid(format!("{name} must not be negative, and is {number}")))
    });
    checked.transpose()
}

/// Returns the encoding that a model names, if it names one.
pub(crate) fn encoding(name: Option<&str>) -> Result<Option<Encoding>, Refusal> {
    let name = name.filter(|name| !name.is_empty());
    let found = name.map(|name| {
        Encoding::named(name).ok_or_else(|| {
            Refusal::invalid(format!(
                "encoding {name:?} is not known; use a name such as utf-8, utf-16le, windows-1252 or shift_jis"
            ))
        })
    });
    found.transpose()
}

/// What the operating system refuses is about the path; what the operator did not grant is about the plugin, and says so.
fn is_permission(error: &Error) -> bool {
    !error.to_string().starts_with("this plugin")
}

/// Returns what is wrong with a path, in the words of the reference where it has some.
pub(crate) fn about(path: &str, error: &Error) -> String {
    match error {
        Error::NotFound => format!("file does not exist: {path}{}", blanks(path)),
        Error::NotAFile => format!("not a file: {path}"),
        Error::NotADirectory => format!("not a directory: {path}"),
        Error::OutsideWorkspace(_) => {
            let root = context::workspace_root();
            format!("{path} is outside of the workspace; use paths in {root}")
        }
        Error::Changed(_) => format!("{error}: {path}; read it again"),
        error => format!("{error}: {path}"),
    }
}

/// How many names of a directory are compared with the one that is not there.
const MAX_NAMES: u32 = 1_000;

/// How alike two names are at least for one to be meant by the other.
const ALIKE: f64 = 0.88;

/// Says why a path leads nowhere: at its name is a broken link, or a name that cannot be written as text; or the path may mean the file
/// of the directory whose name is most like it.
pub(crate) fn missing(files: &dyn Files, path: &str) -> Option<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
    let parent = if directory.is_empty() { "/" } else { directory };
    let (entries, _) = files.read_directory(parent, None, MAX_NAMES).ok()?;
    if let Some(same) = entries.iter().find(|entry| entry.name == name) {
        return match same.kind {
            Kind::Symlink => {
                Some("it is a symbolic link, and its target does not exist".to_owned())
            }
            _ if is_lossy(name) => {
                Some("its name is not UTF-8; use execute for this file".to_owned())
            }
            _ => None,
        };
    }
    let alike = entries
        .into_iter()
        .filter(|entry| !is_lossy(&entry.name))
        .map(|entry| (likeness(name, &entry.name), entry.name));
    let (_, nearest) = alike
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(match path.rsplit_once('/') {
        Some((directory, _)) => format!("did you mean {directory}/{nearest}?"),
        None => format!("did you mean {nearest}?"),
    })
}

/// Returns whether a listing shows this name in the place of one that is not UTF-8. A path with it leads nowhere.
fn is_lossy(name: &str) -> bool {
    name.contains(char::REPLACEMENT_CHARACTER)
}

/// Says that the blanks around a path count, if it has any.
fn blanks(path: &str) -> String {
    match path.trim() {
        same if same == path => String::new(),
        "" => " (a name of blanks)".to_owned(),
        without => format!(" (with the blanks around it; for {without:?} leave them out)"),
    }
}
