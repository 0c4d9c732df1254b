//! Files of the workspace.
//!
//! Write the logic of a tool against `&dyn` [`Files`]: give it [`Host`] when it runs, and [`FakeFiles`](crate::testing::FakeFiles)
//! in tests. A plugin that never names [`Host`] does not import `files`, and needs no grant for it.
//!
//! Paths are absolute, or relative to the workspace directory. The host resolves them, and nothing outside can be reached.

mod host;
mod walk;

use std::fmt;

pub use crate::bindings::files::toolhost::plugin::files::{
    Chunk, Entry, FileMatches, Filter, Found, FoundFile, Kind, LetterCase, Line, Matches, Metadata,
    Page, Precondition, Removal, Scope, SharedFile, Skipped, Text, Write,
};
pub use host::Host;
pub use walk::walk;

/// The reasons why files cannot be removed.
const NO_REMOVAL: &str = "these files cannot be removed";

/// What files say that cannot be searched.
const NO_SEARCH: &str = "these files cannot be searched";

/// What files say that cannot be shared.
const NO_SHARING: &str = "these files cannot be shared";

/// The files of the workspace.
pub trait Files: fmt::Debug {
    /// Returns facts about what a path names, following links.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn metadata(&self, path: &str) -> Result<Metadata, Error>;

    /// Returns at most `max` bytes of a file, from the byte `offset` on; never more than 4 MiB.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn read(&self, path: &str, offset: u64, max: u32) -> Result<Chunk, Error>;

    /// Goes over at most `lines` lines of a file, from the byte `offset` on, without reading them into the plugin.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn skip_lines(&self, path: &str, offset: u64, lines: u64) -> Result<Skipped, Error>;

    /// Writes all of the files or none, and returns facts about each in the same order. All of them together may have up to
    /// the host's limit for the data of one call (8 MiB by default).
    ///
    /// # Errors
    ///
    /// The index of the file that failed, and why.
    fn write_all(&self, writes: &[Write]) -> Result<Vec<Metadata>, (usize, Error)>;

    /// Writes and removes all of the files or none, and returns facts about each that was written, in the same order. A file is moved by
    /// writing its content to the new path and removing the old one. Files of a plugin's own need not offer it.
    ///
    /// # Errors
    ///
    /// The index of the file that failed, and why; the removals count on behind the writes.
    fn change_all(
        &self,
        writes: &[Write],
        removals: &[Removal],
    ) -> Result<Vec<Metadata>, (usize, Error)> {
        if removals.is_empty() {
            return self.write_all(writes);
        }
        Err((writes.len(), Error::Failed(NO_REMOVAL.to_owned())))
    }

    /// Returns at most `max` names of a directory, in order, from the first one after `after` on, and whether more follow.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn read_directory(
        &self,
        path: &str,
        after: Option<&str>,
        max: u32,
    ) -> Result<(Vec<Entry>, bool), Error>;

    /// Searches files for a text, and returns a page of the lines or files that match. Files of a plugin's own need not offer it.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn search(&self, _scope: &Scope, _text: &Text, _page: Page) -> Result<Matches, Error> {
        Err(Error::Failed(NO_SEARCH.to_owned()))
    }

    /// Finds files and directories by their paths and facts, and returns a page of them. Files of a plugin's own need not offer it.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    fn find(&self, _scope: &Scope, _filter: &Filter, _page: Page) -> Result<Found, Error> {
        Err(Error::Failed(NO_SEARCH.to_owned()))
    }

    /// Makes a link by which the person that the chat is with gets a regular file without a token. It ends after so many seconds, from 60
    /// to 604,800; `None`: after a day. Files of a plugin's own need not offer it.
    ///
    /// # Errors
    ///
    /// See [`Error`]. If people cannot reach the host, the text says what to do.
    fn share(&self, _path: &str, _lifetime_secs: Option<u64>) -> Result<SharedFile, Error> {
        Err(Error::Failed(NO_SHARING.to_owned()))
    }
}

impl Default for Scope {
    /// Returns the workspace directory, without what is hidden or ignored.
    fn default() -> Self {
        Self {
            path: ".".to_owned(),
            globs: Vec::new(),
            types: Vec::new(),
            hidden: false,
            ignored: false,
            max_depth: None,
        }
    }
}

impl Default for Text {
    /// Returns no pattern, and lines of 1,024 bytes without others around them.
    fn default() -> Self {
        Self {
            pattern: String::new(),
            literal: false,
            letter_case: LetterCase::Exact,
            words: false,
            multiline: false,
            encoding: None,
            before: 0,
            after: 0,
            width: 1024,
            files_only: false,
        }
    }
}

impl Default for Filter {
    /// Returns a filter that everything passes.
    fn default() -> Self {
        Self {
            kind: None,
            min_size: None,
            max_size: None,
            since_ms: None,
            until_ms: None,
            newest_first: false,
        }
    }
}

/// Why an operation failed. The texts are for the model to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The path, or another argument, is not valid.
    Invalid(String),
    /// The plugin was not granted this, or the operating system refused it.
    Denied(String),
    /// There is nothing at the path.
    NotFound,
    /// The path names something that is not a regular file.
    NotAFile,
    /// The path names something that is not a directory.
    NotADirectory,
    /// The path, which this holds, leads out of the workspace.
    OutsideWorkspace(String),
    /// It is larger than the host allows, which is this many bytes.
    TooLarge(u64),
    /// A precondition did not hold.
    Changed(String),
    /// The workspace cannot be reached. Nothing was done.
    Unavailable(String),
    /// It may have been done, or be done in part.
    UnknownOutcome(String),
    /// It failed in another way.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no such file or directory"),
            Self::NotAFile => f.write_str("not a file"),
            Self::NotADirectory => f.write_str("not a directory"),
            Self::OutsideWorkspace(path) => write!(f, "{path} is outside of the workspace"),
            Self::TooLarge(most) => {
                write!(f, "larger than {most} bytes, the most that is possible")
            }
            Self::Invalid(text)
            | Self::Denied(text)
            | Self::Changed(text)
            | Self::Unavailable(text)
            | Self::UnknownOutcome(text)
            | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
