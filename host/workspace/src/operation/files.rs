//! Operations on files. Relative paths begin at the root of the workspace. The account of the [`Context`](crate::Context) is charged. A
//! workspace without files answers [`Error::Unavailable`].

use std::path::PathBuf;

use super::{Repeat, SHORT_ANSWER, operation, with_bytes};
use crate::files::{
    Chunk, Entry, Error, Filter, Found, MAX_ENTRIES, MAX_FOUND, MAX_PART, MAX_READ, MAX_RESULTS,
    MAX_WRITE, MAX_WRITES, Matches, Metadata, Page, Precondition, Removal, Scope, Skipped, Text,
    Write,
};

/// The longest path, in bytes, with its escapes.
const MAX_PATH: usize = 4096 * 6;

/// The longest entry of a directory, in bytes: its name with its escapes, and the rest.
const MAX_ENTRY: usize = 255 * 6 + 512;

/// The most bytes of a result of a search, without its texts.
const MAX_RESULT: usize = 256;

fn results_of(page: &Page) -> usize {
    usize::try_from(page.max.min(MAX_RESULTS)).unwrap_or(usize::MAX)
}

operation! {
    /// Returns facts about the file or directory at a path.
    MetadataOf = "metadata", {
        /// The file or directory.
        path: String,
    } -> Result<Metadata, Error>;

    const OF_FILES: bool = true;
}

operation! {
    /// Returns at most `max` bytes of a file from the byte `offset` on.
    ReadFile = "read-file", {
        /// The file.
        path: String,
        /// The first byte.
        offset: u64,
        /// The most bytes.
        max: usize,
    } -> Result<Chunk, Error>;

    const OF_FILES: bool = true;

    fn max_answer(&self) -> usize {
        with_bytes(self.max.min(MAX_READ))
    }
}

operation! {
    /// Goes over at most `lines` lines of a file from the byte `offset` on.
    SkipLines = "skip-lines", {
        /// The file.
        path: String,
        /// The first byte.
        offset: u64,
        /// How many lines.
        lines: u64,
    } -> Result<Skipped, Error>;

    const OF_FILES: bool = true;
}

operation! {
    /// Writes and removes all files or none. The error names the index of the one that failed; those to remove come after those to write.
    WriteFiles = "write-files", {
        /// The files to write.
        writes: Vec<Write>,
        /// The files to remove.
        removals: Vec<Removal>,
    } -> Result<Vec<Metadata>, (usize, Error)>;

    const OF_FILES: bool = true;

    const WRITES_FILES: bool = true;

    const MAX_BYTES: usize = MAX_WRITE / 3 * 4 + MAX_WRITES * MAX_PATH;

    fn repeat(&self) -> Repeat {
        Repeat::Acts
    }

    fn max_answer(&self) -> usize {
        self.writes.len() * (2 * MAX_PATH) + SHORT_ANSWER
    }
}

operation! {
    /// Returns at most `max` names of a directory, beginning after the name `after`, and whether more follow.
    ReadDirectory = "read-directory", {
        /// The directory.
        path: String,
        /// The name before the first one.
        after: Option<String>,
        /// The most names.
        max: usize,
    } -> Result<(Vec<Entry>, bool), Error>;

    const OF_FILES: bool = true;

    fn max_answer(&self) -> usize {
        self.max.min(MAX_ENTRIES) * MAX_ENTRY + SHORT_ANSWER
    }
}

operation! {
    /// Searches files for a text.
    SearchText = "search-text", {
        /// The files.
        scope: Scope,
        /// The text.
        text: Text,
        /// The results that are returned.
        page: Page,
    } -> Result<Matches, Error>;

    const OF_FILES: bool = true;

    fn max_answer(&self) -> usize {
        MAX_FOUND * 6 + results_of(&self.page) * MAX_RESULT + SHORT_ANSWER
    }
}

operation! {
    /// Finds files by their paths and facts.
    FindFiles = "find-files", {
        /// The files that are looked at.
        scope: Scope,
        /// The filter that they must pass.
        filter: Filter,
        /// The results that are returned.
        page: Page,
    } -> Result<Found, Error>;

    const OF_FILES: bool = true;

    fn max_answer(&self) -> usize {
        MAX_FOUND * 6 + results_of(&self.page) * MAX_RESULT + SHORT_ANSWER
    }
}

operation! {
    /// Returns the absolute path that a path stands for, every link resolved. The last names may be missing.
    Resolve = "resolve", {
        /// The path.
        path: String,
    } -> Result<PathBuf, Error>;

    const OF_FILES: bool = true;
}

operation! {
    /// Checks that a workspace can be restricted: see [`Workspace::restricted`](crate::Workspace::restricted).
    Restrict = "restrict", {
        /// The directories.
        roots: Vec<PathBuf>,
    } -> Result<(), Error>;

    const OF_FILES: bool = true;
}

operation! {
    /// Begins to write a file in parts, under a temporary name beside it. A repeat with the same id does nothing. An upload to which nothing
    /// is added for two minutes is dropped.
    BeginUpload = "begin-upload", {
        /// The id of the upload, which its caller makes at random.
        upload: String,
        /// The file. Directories that are missing above it are made, with mode 0755.
        path: String,
        /// The precondition, which must hold now and at the end.
        when: Precondition,
    } -> Result<(), Error>;

    const OF_FILES: bool = true;

    const WRITES_FILES: bool = true;
}

operation! {
    /// Adds bytes to an upload, at most [`MAX_PART`] of them. A repeat with the same offset does nothing.
    AppendUpload = "append-upload", {
        /// The upload.
        upload: String,
        /// How many bytes it has.
        offset: u64,
        /// The bytes that follow.
        #[serde(with = "crate::base64")]
        #[schemars(with = "String")]
        data: Vec<u8>,
    } -> Result<(), Error>;

    const OF_FILES: bool = true;

    const WRITES_FILES: bool = true;

    const MAX_BYTES: usize = MAX_PART.div_ceil(3) * 4 + SHORT_ANSWER;
}

operation! {
    /// Gives an upload the name of its file, at once, if the precondition still holds. Ends the upload, also if it fails.
    CommitUpload = "commit-upload", {
        /// The upload.
        upload: String,
        /// The file, as the upload began with it.
        path: String,
        /// How many bytes were sent.
        size: u64,
        /// Their BLAKE3 digest, in hex, for the audit trail.
        content: String,
    } -> Result<Metadata, Error>;

    const OF_FILES: bool = true;

    const WRITES_FILES: bool = true;

    fn repeat(&self) -> Repeat {
        Repeat::Acts
    }
}

operation! {
    /// Drops an upload. That there is none is no error.
    DropUpload = "drop-upload", {
        /// The upload.
        upload: String,
    } -> Result<(), Error>;

    const OF_FILES: bool = true;

    const WRITES_FILES: bool = true;
}

operation! {
    /// Removes a file, a link (and not its target) or a directory.
    RemoveFile = "remove-file", {
        /// The path.
        path: String,
        /// Whether a directory is removed with all that is in it. Without it, it must be empty.
        recursive: bool,
        /// The precondition; the version of a link is that of the link itself.
        when: Precondition,
    } -> Result<(), Error>;

    const OF_FILES: bool = true;

    const WRITES_FILES: bool = true;

    fn repeat(&self) -> Repeat {
        Repeat::Acts
    }
}
