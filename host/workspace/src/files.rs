//! Values of files: facts, stretches, writes, and errors of operations.

mod account;
mod content;
mod error;
mod grant;
mod metadata;
mod search;

pub use account::CpuAccount;
pub use content::{Chunk, Precondition, Removal, Skipped, Write};
pub use error::Error;
pub use grant::FilesGrant;
pub use metadata::{Entry, Kind, Metadata};
pub use search::{
    FileMatches, Filter, Found, FoundFile, LetterCase, Line, MAX_CONTEXT, MAX_FOUND, MAX_RESULTS,
    MAX_WIDTH, Matches, Page, Scope, Text,
};

/// The most bytes of one `read_file` of a [`Workspace`](crate::Workspace), and of a file whose version is a hash of its
/// content: 4 MiB.
pub const MAX_READ: usize = 4 << 20;

/// The most bytes of one part of an upload: 1 MiB.
pub const MAX_PART: usize = 1 << 20;

/// The most bytes of all files of one `write_files`; 64 MiB.
pub const MAX_WRITE: usize = 64 << 20;

/// The most files of one `write_files`, with those that it removes.
pub const MAX_WRITES: usize = 200;

/// The most entries of one `read_directory`.
pub const MAX_ENTRIES: usize = 10_000;
