//! Between the contract's types and the domain's.

use std::time::SystemTime;

use super::wit;
use toolhost_workspace::files::{
    Chunk, Entry, Error, Kind, Metadata, Precondition, Skipped, Write,
};

impl From<Kind> for wit::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::File => Self::File,
            Kind::Directory => Self::Directory,
            Kind::Symlink => Self::Symlink,
            Kind::Other => Self::Other,
        }
    }
}

impl From<Metadata> for wit::Metadata {
    fn from(metadata: Metadata) -> Self {
        let modified = metadata.modified.duration_since(SystemTime::UNIX_EPOCH);
        let modified = modified.unwrap_or_default().as_millis();
        Self {
            kind: metadata.kind.into(),
            size: metadata.size,
            modified_ms: u64::try_from(modified).unwrap_or(u64::MAX),
            version: metadata.version,
            identity: metadata.identity,
            real_path: metadata.path.to_string_lossy().into_owned(),
        }
    }
}

impl From<Chunk> for wit::Chunk {
    fn from(chunk: Chunk) -> Self {
        Self {
            data: chunk.data,
            size: chunk.size,
            version: chunk.version,
            identity: chunk.identity,
        }
    }
}

impl From<Skipped> for wit::Skipped {
    fn from(skipped: Skipped) -> Self {
        Self {
            offset: skipped.offset,
            lines: skipped.lines,
            size: skipped.size,
        }
    }
}

impl From<Entry> for wit::Entry {
    fn from(entry: Entry) -> Self {
        Self {
            name: entry.name,
            kind: entry.kind.into(),
        }
    }
}

impl From<wit::Write> for Write {
    fn from(write: wit::Write) -> Self {
        Self {
            path: write.path,
            data: write.data,
            when: match write.when {
                wit::Precondition::Any => Precondition::Any,
                wit::Precondition::Absent => Precondition::Absent,
                wit::Precondition::Version(version) => Precondition::Version(version),
            },
        }
    }
}

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(text) => Self::Invalid(text),
            Error::Denied(text) => Self::Denied(text),
            Error::NotFound => Self::NotFound,
            Error::NotAFile => Self::NotAFile,
            Error::NotADirectory => Self::NotADirectory,
            Error::OutsideWorkspace { path, .. } => Self::OutsideWorkspace(path),
            Error::TooLarge(most) => Self::TooLarge(most),
            Error::Changed(text) => Self::Changed(text),
            Error::Unavailable(text) => Self::Unavailable(text),
            Error::UnknownOutcome(text) => Self::UnknownOutcome(text),
            Error::Failed(text) => Self::Failed(text),
        }
    }
}
