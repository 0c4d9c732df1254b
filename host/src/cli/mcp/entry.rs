//! An entry in the configuration of a client, and what its edits in every format share.

use std::ops::Range;
use std::path::Path;

use crate::cli::literal::{list, quoted};

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

/// The rest of a file from which an entry was taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// The file has no such entry.
    Absent,
    /// The rest of the file.
    Rest(String),
    /// Nothing: the file was made for the entry.
    Nothing,
}

/// A text that replaces a range of a file.
pub(super) type Splice = (Range<usize>, String);

/// The command and arguments of an entry, each with its place in the file.
#[derive(Debug)]
pub(super) struct Started<'t> {
    pub(super) command: (&'t str, Range<usize>),
    /// The arguments, as far as they are texts.
    pub(super) args: (Vec<Option<&'t str>>, Range<usize>),
}

impl Entry {
    /// Returns what changes an entry of a file into this one; fails if that entry starts another program.
    pub(super) fn changes(&self, found: Option<Started>) -> Result<Vec<Splice>, EditError> {
        let Started { command, args } = ours(&self.name, found)?;
        let mut splices = Vec::new();
        if command.0 != self.command {
            splices.push((command.1, quoted(&self.command)));
        }
        let wanted = self.args.iter().map(|arg| Some(arg.as_str()));
        if !args.0.into_iter().eq(wanted) {
            splices.push((args.1, list(self.args.iter().map(String::as_str))));
        }
        splices.sort_by_key(|(range, _)| range.start);
        Ok(splices)
    }
}

/// Returns what an entry starts; fails if that is not this program.
pub(super) fn ours<'t>(name: &str, found: Option<Started<'t>>) -> Result<Started<'t>, EditError> {
    let is_ours = |started: &Started| {
        let file = Path::new(started.command.0).file_name();
        file.is_some_and(|file| file == "toolhost") && started.args.0.first() == Some(&Some("mcp"))
    };
    let ours = found.filter(is_ours);
    ours.ok_or_else(|| EditError::Taken(name.to_owned()))
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
pub(super) fn spliced(text: &str, splices: &[Splice]) -> String {
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
