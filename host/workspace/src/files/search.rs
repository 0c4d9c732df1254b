//! Searches of files: which files, what is searched for in them, and what was found.

use std::path::PathBuf;
use std::time::SystemTime;

use super::Kind;

/// The most results of one search, those that are skipped included.
pub const MAX_RESULTS: u64 = 100_000;

/// The most bytes of the lines of one search.
pub const MAX_FOUND: usize = 4 << 20;

/// The most bytes of one line that was found.
pub const MAX_WIDTH: usize = 16 << 10;

/// The most lines around a match.
pub const MAX_CONTEXT: usize = 1_000;

/// The files that a search goes over. Links are not followed, and what is closed is as if it were not there.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Scope {
    /// The directory or the file to begin at.
    pub path: String,
    /// Globs, as lines of a `.gitignore`. If some have no `!`, a file must fit one of these; it must fit none of those with `!`. What is
    /// hidden or ignored is found only by a glob that spells out its name.
    pub globs: Vec<String>,
    /// Names of types of files, such as `rust`. If there are some, a file must be of one of them.
    pub types: Vec<String>,
    /// Whether files and directories are searched whose names begin with a dot.
    pub hidden: bool,
    /// Whether files are searched that `.gitignore`, `.ignore` or `.git/info/exclude` name.
    pub ignored: bool,
    /// How many directories deep; `None`: all of them. The files of the directory `path` itself have the depth 1.
    pub max_depth: Option<usize>,
}

/// How a pattern compares letters.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub enum LetterCase {
    /// As they are.
    #[default]
    Exact,
    /// Large and small letters are equal.
    Any,
    /// As [`LetterCase::Any`], unless the pattern has a large letter.
    Smart,
}

/// What is searched for in the files.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Text {
    /// A regular expression, in the syntax of the crate `regex`.
    pub pattern: String,
    /// Whether the pattern is a text, and no regular expression.
    pub literal: bool,
    /// How letters are compared.
    pub letter_case: LetterCase,
    /// Whether only whole words match.
    pub words: bool,
    /// Whether a match can have several lines.
    pub multiline: bool,
    /// The encoding of all files, such as `shift_jis`; `None`: UTF-8, or UTF-16 if a byte order mark says so.
    pub encoding: Option<String>,
    /// How many lines before each match are returned, at most [`MAX_CONTEXT`].
    pub before: usize,
    /// How many lines behind each match are returned, at most [`MAX_CONTEXT`].
    pub after: usize,
    /// The most bytes of a line, at most [`MAX_WIDTH`]. Of a longer one, the part around its first match is returned.
    pub width: usize,
    /// Whether the results are files, without their lines.
    pub files_only: bool,
}

/// Some of the results of a search, in their order.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct Page {
    /// How many results are left out first.
    pub skip: u64,
    /// The most results. With [`Page::skip`], at most [`MAX_RESULTS`].
    pub max: u64,
}

/// A line of a file that was searched.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// The line without its end. Bytes that are no text are replaced.
    pub text: String,
    /// Whether it matches, and is not only near a match.
    pub is_match: bool,
    /// Whether a part of the line is missing, because it is longer than [`Text::width`].
    pub is_cut: bool,
}

/// A file that matches.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct FileMatches {
    /// Its path, relative to the workspace if it is there.
    pub path: PathBuf,
    /// How many of its lines match.
    pub matches: u64,
    /// The lines of the page. Empty if the results are files.
    pub lines: Vec<Line>,
}

/// What a search for a text found.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Matches {
    /// The files of the page, by the bytes of their paths.
    pub files: Vec<FileMatches>,
    /// How many files match in all.
    pub total_files: u64,
    /// How many lines match in all.
    pub total_matches: u64,
    /// How many files were searched.
    pub searched: u64,
    /// How many files or directories could not be read.
    pub unreadable: u64,
    /// Whether results follow those of the page.
    pub more: bool,
}

/// What a file must be to be found.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Filter {
    /// Its kind; `None`: any.
    pub kind: Option<Kind>,
    /// The least bytes of a file.
    pub min_size: Option<u64>,
    /// The most bytes of a file.
    pub max_size: Option<u64>,
    /// It was changed at this time or later.
    pub since: Option<SystemTime>,
    /// It was changed before this time.
    pub until: Option<SystemTime>,
    /// Whether the files that were changed last come first. Otherwise they are in the order of the bytes of their paths.
    pub newest_first: bool,
}

/// A file that was found.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct FoundFile {
    /// Its path, relative to the workspace if it is there.
    pub path: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// Its size in bytes; 0 for a directory.
    pub size: u64,
    /// When it was last changed.
    pub modified: SystemTime,
    /// Whether its owner may run it.
    pub executable: bool,
}

/// The files that a search found.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Found {
    /// Those of the page.
    pub files: Vec<FoundFile>,
    /// How many there are in all.
    pub total: u64,
    /// How many directories could not be read.
    pub unreadable: u64,
    /// Whether some follow those of the page.
    pub more: bool,
}
