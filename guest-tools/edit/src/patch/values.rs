//! Files as a patch finds them, and what it does with them.

use crate::commit::{Attempt, NotWritten};
use crate::diff::{Bounds, diff};
use crate::encoding::{Encoding, Text};
use crate::matcher::BOM;
use crate::plan::{Content, Problem, Source};

/// Files that can be read, and changed together.
pub trait PatchFiles: Source {
    /// Why a change failed.
    type Error;

    /// Reads a file, which may be empty, binary or large; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Why it cannot be patched; the text is preceded by `open <path>: `.
    fn look(&mut self, path: &str) -> Result<Option<Seen>, Problem>;

    /// Returns what to do about a file that is not there, and that the patch updates or deletes.
    fn advice(&mut self, path: &str, deletes: bool) -> String;

    /// Makes all of these changes or none, if each file is still as it was.
    ///
    /// # Errors
    ///
    /// Why none was made.
    fn change(&mut self, changes: &[&Change]) -> Result<(), NotWritten<Self::Error>>;
}

/// A file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The file, or its beginning.
    pub content: Content,
    /// Why it is not read as a whole.
    pub is_cut: Option<String>,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path, as the patch first has it.
    pub path: String,
    /// The version of the file that was read; `None` if there was none.
    pub version: Option<String>,
    /// The new content; `None` if the file is removed.
    pub data: Option<Vec<u8>>,
    /// The path of the file that is removed and moves here, where no file was.
    pub moved_from: Option<String>,
    pub(super) is_changed: bool,
    pub(super) text: Option<Text>,
}

impl Attempt for Change {
    fn is_changed(&self) -> bool {
        self.is_changed
    }

    fn before(&self) -> Option<(&str, &Text)> {
        Some((&self.path, self.text.as_ref()?))
    }
}

/// The result of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It made a file.
    Added,
    /// It changed a file.
    Updated,
    /// It moved a file, and may have changed it.
    Moved,
    /// It copied a file, and may have changed the copy.
    Copied,
    /// It removed a file.
    Deleted,
}

/// A section of a patch that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The path, as the patch has it.
    pub path: String,
    /// What was done.
    pub done: Done,
    /// Where the file was moved or copied to.
    pub to: Option<String>,
    /// What there is to know besides.
    pub notes: Vec<String>,
    /// The encoding that the file keeps.
    pub encoding: Encoding,
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
}

impl Shown {
    pub(super) fn size(&self) -> usize {
        self.old.len() + self.new.len()
    }

    /// Returns what the section changed, as a unified diff of the text.
    #[must_use]
    pub fn diff(&self, bounds: Bounds) -> String {
        let (mut old, mut new) = (self.old.as_slice(), self.new.as_slice());
        // A mark that stays is none of the text.
        if let (Some(without), Some(of_new)) = (old.strip_prefix(BOM), new.strip_prefix(BOM)) {
            (old, new) = (without, of_new);
        }
        diff(self.to.as_deref().unwrap_or(&self.path), old, new, bounds)
    }
}

/// A file as it is, or as it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Text(Text),
    /// It is no text, or is not read as a whole, and so has no bytes; why.
    Other(Option<Vec<u8>>, String),
}

impl Body {
    pub(super) fn of(seen: Seen) -> Self {
        let data = seen.content.data;
        match seen.is_cut {
            Some(why) => Self::Other(None, why),
            // An empty file has any encoding.
            None => match Text::read(data.clone(), None) {
                Ok(text) => Self::Text(text),
                Err(why) => Self::Other(Some(data), why.to_string()),
            },
        }
    }

    pub(super) fn utf8(text: Vec<u8>) -> Self {
        Self::Text(Text {
            encoding: Encoding::Utf8,
            bytes: text,
        })
    }

    pub(super) fn encoding(&self) -> Encoding {
        match self {
            Self::Text(text) => text.encoding,
            Self::Other(..) => Encoding::Utf8,
        }
    }

    /// Returns how many bytes it has in memory.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.bytes.len(),
            Self::Other(data, _) => data.as_ref().map_or(0, Vec::len),
        }
    }

    pub(super) fn shown(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.bytes.clone(),
            Self::Other(..) => Vec::new(),
        }
    }
}
