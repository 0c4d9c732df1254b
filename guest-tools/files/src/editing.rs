//! The common parts of the tools that edit files: where files are read and written, and how much is shown.

use toolhost_edit::{Bounds, Content, Failure, Kind, NotWritten, Problem, Source};
use toolhost_sdk::context;
use toolhost_sdk::files::{Error, Files, Removal, Write};

use crate::refusal::{self, Refusal};

/// The largest file that is edited: what one read returns.
pub(crate) const MAX_FILE: u32 = 4 << 20;

/// The most bytes of all new contents: what one call of the host takes, with room for paths.
pub(crate) const MAX_TOTAL: usize = 7 << 20;

/// How much of all differences together is shown.
const DIFFS: Bounds = Bounds {
    bytes: 32 << 10,
    line: 1 << 10,
};

/// Files of the host as a source of edits.
pub(crate) struct Workspace<'a> {
    pub(crate) files: &'a dyn Files,
    /// A failure that is not about a path, such as a grant that is missing.
    error: Option<Error>,
    /// How a new file is made.
    new: &'static str,
}

impl<'a> Workspace<'a> {
    /// Makes a source; the text says how a new file is made.
    pub(crate) fn new(files: &'a dyn Files, new: &'static str) -> Self {
        let error = None;
        Self { files, error, new }
    }

    /// Returns the refusal for edits that were not made.
    pub(crate) fn refusal(&mut self, failure: Failure<Refusal>) -> Refusal {
        match failure {
            Failure::Write(refusal) => refusal,
            Failure::Problems(problems) => match self.error.take() {
                Some(error) => Refusal::Error(error.into()),
                None => together(&problems),
            },
        }
    }

    /// Returns what to do about a file that is not there.
    pub(crate) fn advice(&self, path: &str) -> String {
        let missing = refusal::missing(self.files, path);
        missing.unwrap_or_else(|| format!("to make a new file, {}", self.new))
    }

    /// Returns what is wrong with a file that is read.
    pub(crate) fn problem(&mut self, path: &str, error: Error) -> Problem {
        let kind = match &error {
            Error::NotFound => Kind::NotFound,
            Error::Denied(_) | Error::OutsideWorkspace(_) => Kind::Denied,
            Error::Invalid(_) | Error::NotAFile | Error::NotADirectory | Error::TooLarge(_) => {
                Kind::Invalid
            }
            _ => Kind::Failed,
        };
        match Refusal::of(path, error.clone()) {
            Refusal::Error(_) => {
                let text = error.to_string();
                self.error = Some(error);
                Problem::new(kind, text)
            }
            Refusal::Report(_) => match error {
                Error::OutsideWorkspace(_) => {
                    let root = context::workspace_root();
                    Problem::new(
                        kind,
                        format!("outside of the workspace; use paths in {root}"),
                    )
                }
                Error::NotFound => Problem::new(kind, format!("{error}; {}", self.advice(path))),
                error => Problem::new(kind, error.to_string()),
            },
        }
    }

    /// Writes and removes files, all or none.
    pub(crate) fn change(
        &self,
        writes: &[Write],
        removals: &[Removal],
    ) -> Result<(), NotWritten<Refusal>> {
        let Err((index, error)) = self.files.change_all(writes, removals) else {
            return Ok(());
        };
        let written = writes.iter().map(|write| &write.path);
        let removed = removals.iter().map(|removal| &removal.path);
        let path = written.chain(removed).nth(index);
        let path = path.map_or("", String::as_str);
        let nothing = match (&error, writes.len() + removals.len()) {
            (Error::UnknownOutcome(_), _) | (_, 1) => "",
            _ => "; no file was written",
        };
        let has_changed = matches!(error, Error::Changed(_) | Error::NotFound);
        let refusal = match Refusal::of(path, error) {
            Refusal::Report(text) => Refusal::Report(format!("{text}{nothing}")),
            other => other,
        };
        Err(match has_changed {
            true => NotWritten::Changed(refusal),
            false => NotWritten::Failed(refusal),
        })
    }
}

impl Source for Workspace<'_> {
    fn read(&mut self, path: &str) -> Result<Content, Problem> {
        let chunk = match self.files.read(path, 0, MAX_FILE) {
            Ok(chunk) => chunk,
            Err(error) => return Err(self.problem(path, error)),
        };
        if chunk.size > u64::from(MAX_FILE) {
            return Err(Problem::new(Kind::Invalid, too_large(chunk.size)));
        }
        if chunk.data.is_empty() {
            let text = "file is empty; to write it as a whole, use write_file";
            return Err(Problem::new(Kind::Invalid, text));
        }
        Ok(Content {
            data: chunk.data,
            version: chunk.version,
            identity: chunk.identity,
        })
    }
}

/// Says what is wrong, of which a model needs no hundred lines.
fn together(problems: &[Problem]) -> Refusal {
    const MOST: usize = 20;
    let shown = problems.iter().take(MOST).map(Problem::to_string);
    let mut lines: Vec<_> = shown.collect();
    if let Some(more) = problems.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("and {more} more problems"));
    }
    Refusal::report(lines.join("\n"))
}

/// Says that a file is too large to be edited.
pub(crate) fn too_large(size: u64) -> String {
    format!(
        "file is {size} bytes, and the largest that can be edited has {MAX_FILE}; use execute with sed, awk or a script"
    )
}

/// The bytes in which the differences of several files are shown, all together no more than a model wants to read.
pub(crate) struct Shares {
    left: usize,
    files: usize,
}

impl Shares {
    pub(crate) fn new(files: usize) -> Self {
        let left = DIFFS.bytes;
        Self { left, files }
    }

    /// Shows the next file. A small difference leaves its share to those behind it.
    pub(crate) fn take(&mut self, diff: impl FnOnce(Bounds) -> String) -> String {
        let bytes = self.left / self.files.max(1);
        let diff = diff(Bounds { bytes, ..DIFFS });
        self.left = self.left.saturating_sub(diff.len());
        self.files = self.files.saturating_sub(1);
        diff
    }
}
