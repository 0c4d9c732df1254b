//! An entry in the configuration of a client, and what its edits in every format share.

use std::ops::Range;
use std::path::Path;

/// An entry that starts this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The name of the server at the client.
    pub(super) name: String,
    /// The program.
    pub(super) command: String,
    /// Its arguments; the first one is `mcp`.
    pub(super) args: Vec<String>,
}

/// A reason why a configuration cannot be edited. The texts name no file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    /// The syntax is broken.
    #[error("line {line}, column {column}: {problem}; correct it first")]
    Syntax {
        line: usize,
        column: usize,
        problem: String,
    },
    /// A value that should have keys has none.
    #[error("{what} is not {expected}: correct it first")]
    Shape {
        what: String,
        expected: &'static str,
    },
    /// A key is there more than once.
    #[error("{0:?} is there twice: remove one of them first")]
    Twice(String),
    /// The name belongs to another server.
    #[error(
        "the name {0:?} belongs to a server that is not this program: choose another with --name"
    )]
    Taken(String),
    /// The servers are in a form in which an entry is no table of its own.
    #[error("the servers in `{0}` are not tables of their own: edit the entry by hand")]
    Inline(&'static str),
}

/// What is left of a file without an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// The file has no such entry.
    Absent,
    /// The rest of the file.
    Rest(String),
    /// Nothing: the file was made for the entry.
    Nothing,
}

/// Checks that an entry with this command starts this program, and no other one.
pub(super) fn check_ours(
    name: &str,
    command: Option<&str>,
    first: Option<&str>,
) -> Result<(), EditError> {
    let file = command.and_then(|command| Path::new(command).file_name());
    let is_ours = file.is_some_and(|file| file == "toolhost") && first == Some("mcp");
    if is_ours {
        return Ok(());
    }
    Err(EditError::Taken(name.to_owned()))
}

/// Makes the error about syntax that is broken at an offset.
pub(super) fn broken(text: &str, offset: usize, problem: String) -> EditError {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    EditError::Syntax {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
        problem,
    }
}

/// Returns a text with some ranges replaced. The ranges are in order and do not overlap.
pub(super) fn spliced(text: &str, splices: &[(Range<usize>, String)]) -> String {
    let mut output = String::with_capacity(text.len());
    let mut from = 0;
    for (range, new) in splices {
        output.push_str(text.get(from..range.start).unwrap_or_default());
        output.push_str(new);
        from = range.end;
    }
    output.push_str(text.get(from..).unwrap_or_default());
    output
}

/// Returns the line end of a text: that of its first line, or else a line feed.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((first, _)) if first.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the blanks at the beginning of the line in which an offset is.
pub(super) fn indentation(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(line..).unwrap_or_default();
    let rest = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - rest.len()).unwrap_or_default()
}
