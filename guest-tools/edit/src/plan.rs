//! Edits of several files, made in memory: every file is there and every edit matches before anything is written.

use std::collections::BTreeSet;
use std::fmt;

use crate::diff::{Bounds, diff};
use crate::encoding::{Encoding, Text};
use crate::matcher::{BOM, Edit, Error, apply};
use crate::path::clean;

/// The edits of one file.
#[derive(Clone, Debug)]
pub struct FileEdits<'a> {
    /// The path, as the caller wrote it.
    pub path: &'a str,
    /// The encoding of the file; `None`: the one that it seems to have.
    pub encoding: Option<Encoding>,
    /// The edits, each of the result of the one before.
    pub edits: Vec<Edit<'a>>,
}

/// Where files are read from.
pub trait Source {
    /// Reads a whole file.
    ///
    /// # Errors
    ///
    /// Why it cannot be edited; the text is preceded by `open <path>: `.
    fn read(&mut self, path: &str) -> Result<Content, Problem>;
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its bytes.
    pub data: Vec<u8>,
    /// A text that changes when the content does.
    pub version: String,
    /// A text that is equal for two paths of one file.
    pub identity: String,
}

/// One file with its edits made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The path, as the caller first wrote it.
    pub path: String,
    /// The version of the file that was read.
    pub version: String,
    identity: String,
    old: Text,
    new: Vec<u8>,
    /// The new text in the encoding of the file, unless that is UTF-8.
    encoded: Option<Vec<u8>>,
}

impl Planned {
    fn new(file: &FileEdits<'_>, content: Content) -> Result<Self, Problem> {
        let path = file.path;
        let old = Text::read(content.data, file.encoding)
            .map_err(|problem| Problem::invalid(format!("edit {path}: {problem}")))?;
        let mut planned = Self {
            path: path.to_owned(),
            version: content.version,
            identity: content.identity,
            new: edited(path, &old.bytes, &file.edits, false)?,
            old,
            encoded: None,
        };
        planned.encode()?;
        Ok(planned)
    }

    /// Makes more edits of the same file.
    fn edit(&mut self, file: &FileEdits<'_>) -> Result<(), Problem> {
        self.new = edited(file.path, &self.new, &file.edits, true)?;
        self.encode()
    }

    fn encode(&mut self) -> Result<(), Problem> {
        if self.old.encoding == Encoding::Utf8 {
            return Ok(());
        }
        let encoded = self.old.encoded(&self.new).map_err(|problem| {
            let path = &self.path;
            let advice = "use other characters, or convert the file to UTF-8 first";
            Problem::invalid(format!("edit {path}: {problem}; {advice}"))
        })?;
        self.encoded = Some(encoded);
        Ok(())
    }

    /// Returns the bytes that the file becomes.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        self.encoded.as_deref().unwrap_or(&self.new)
    }

    /// Returns whether the edits change anything.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.new != self.old.bytes
    }

    /// Returns the encoding of the file.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.old.encoding
    }

    /// Returns the text that the edits were made in.
    pub(crate) fn old(&self) -> &Text {
        &self.old
    }

    /// Returns what the edits change, as a unified diff of the text.
    #[must_use]
    pub fn diff(&self, bounds: Bounds) -> String {
        let (mut old, mut new) = (self.old.bytes.as_slice(), self.new.as_slice());
        // A mark that stays is none of the text.
        if let (Some(without), Some(of_new)) = (old.strip_prefix(BOM), new.strip_prefix(BOM)) {
            (old, new) = (without, of_new);
        }
        diff(&self.path, old, new, bounds)
    }

    fn size(&self) -> usize {
        self.old.bytes.len().max(self.data().len())
    }
}

/// What kind of problem it is, from the one that matters least to the one that matters most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What was asked for does not fit.
    Invalid,
    /// Another writer changed the file at the same time.
    Conflict,
    /// The file may not be used.
    Denied,
    /// There is no file.
    NotFound,
    /// Something else failed.
    Failed,
}

/// Why nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind it is.
    pub kind: Kind,
    /// What is wrong, for people and models.
    pub text: String,
}

impl Problem {
    /// Makes a problem.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    fn invalid(text: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, text)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The most edits of one plan: each goes over its whole file.
pub const MAX_EDITS: usize = 1_000;

/// Makes all edits in memory, at most [`MAX_EDITS`]. Relative paths begin at `base`; without one they are refused. All files
/// together may have `most` bytes, before and after.
///
/// Two entries for one file are one if their paths mean the same by name, and are refused if a link is in the way: which of
/// the two orders was meant?
///
/// # Errors
///
/// Everything that is wrong, in the order of the files.
pub fn plan(
    files: &[FileEdits<'_>],
    base: Option<&str>,
    most: usize,
    source: &mut impl Source,
) -> Result<Vec<Planned>, Vec<Problem>> {
    if files.is_empty() {
        return Err(vec![Problem::invalid("must specify at least one file")]);
    }
    let edits: usize = files.iter().map(|file| file.edits.len()).sum();
    if edits > MAX_EDITS {
        let text = format!("{edits} edits are too many for one call, which takes {MAX_EDITS}");
        return Err(vec![Problem::invalid(text)]);
    }
    let mut plan = Plan::default();
    for file in files {
        if let Err(problem) = plan.add(file, base, source) {
            plan.problems.push(problem);
        }
        let sizes = plan.planned.iter().map(|(_, file)| file.size());
        if sizes.sum::<usize>() > most {
            return Err(vec![plan.too_large(most)]);
        }
    }
    if plan.problems.is_empty() {
        Ok(plan
            .planned
            .into_iter()
            .map(|(_, planned)| planned)
            .collect())
    } else {
        Err(plan.problems)
    }
}

#[derive(Default)]
struct Plan {
    /// Each with its path resolved by name.
    planned: Vec<(String, Planned)>,
    problems: Vec<Problem>,
    /// What could not be read, or not be edited: further edits of it would say the same.
    failed: BTreeSet<String>,
}

impl Plan {
    /// Says which file is too large, or that all of them are.
    fn too_large(&self, most: usize) -> Problem {
        let sizes = self
            .planned
            .iter()
            .map(|(_, file)| (file.size(), &file.path));
        Problem::invalid(match sizes.max() {
            Some((size, path)) if size > most => format!(
                "edit {path}: the file would become {size} bytes, and the most that one call can write is {most}; replace less"
            ),
            Some((size, path)) => format!(
                "the files together are too large for one call, which takes {most} bytes: the largest, {path}, has {size}; edit \
                 fewer at once"
            ),
            None => "the files together are too large for one call".to_owned(),
        })
    }

    fn add(
        &mut self,
        file: &FileEdits<'_>,
        base: Option<&str>,
        source: &mut impl Source,
    ) -> Result<(), Problem> {
        let path = file.path;
        if path.is_empty() {
            return Err(Problem::invalid("\"path\" is required"));
        }
        let absolute = || Problem::invalid(format!("file path must be absolute: {path:?}"));
        let cleaned = clean(path, base).ok_or_else(absolute)?;
        if file.edits.is_empty() {
            return Err(Problem::invalid("must specify at least one edit"));
        }
        if self.failed.contains(&cleaned) {
            return Ok(());
        }
        let result = self.edit(file, &cleaned, source);
        if result.is_err() {
            self.failed.insert(cleaned);
        }
        result
    }

    fn edit(
        &mut self,
        file: &FileEdits<'_>,
        cleaned: &str,
        source: &mut impl Source,
    ) -> Result<(), Problem> {
        let path = file.path;
        let content = source.read(path).map_err(|problem| Problem {
            text: format!("open {path}: {problem}"),
            ..problem
        })?;
        let same = |(_, planned): &&mut (String, Planned)| planned.identity == content.identity;
        match self.planned.iter_mut().find(same) {
            Some((other, planned)) if other == cleaned => {
                return planned.edit(file);
            }
            // If the other file was replaced since it was read, this one may have got its identity. Then the write finds that.
            Some((_, planned)) if is_still(&planned.path, &content.identity, source) => {
                let other = &planned.path;
                return Err(Problem::invalid(format!(
                    "duplicate file path {path:?} aliases {other:?} (same real file): combine edits into a single entry's \"edits\" list"
                )));
            }
            Some(_) | None => {}
        }
        let planned = Planned::new(file, content)?;
        self.planned.push((cleaned.to_owned(), planned));
        Ok(())
    }
}

/// Returns whether a path still names the file of this identity.
fn is_still(path: &str, identity: &str, source: &mut impl Source) -> bool {
    source.read(path).is_ok_and(|now| now.identity == identity)
}

/// Makes the edits of a file. `has_earlier` says whether the content has edits of an earlier entry.
fn edited(
    path: &str,
    content: &[u8],
    edits: &[Edit<'_>],
    has_earlier: bool,
) -> Result<Vec<u8>, Problem> {
    apply(content, edits).map_err(|error| {
        // Which of several it was is worth knowing.
        let (which, end) = match edits.len() {
            1 if !has_earlier => (String::new(), String::new()),
            1 => (String::new(), not_written(&error, true)),
            count => (
                format!(" (edit {} of {count})", error.index + 1),
                not_written(&error, has_earlier || error.index > 0),
            ),
        };
        Problem::invalid(format!("edit {path}{which}: {error}{end}"))
    })
}

/// Says that no edit of several was written. The error may show lines that only the earlier edits have made.
fn not_written(error: &Error, has_earlier: bool) -> String {
    // Lines of the file are shown at the end of an error.
    let separator = match error.to_string().contains('\n') {
        true => "\n",
        false => ". ",
    };
    let state = match has_earlier {
        true => "; the error describes the file as the earlier edits would leave it",
        false => "",
    };
    format!("{separator}No edit was written{state}")
}

#[cfg(test)]
mod tests;
