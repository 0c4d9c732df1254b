//! Between the contract's types and the domain's.

use super::wit;
use crate::convert::{same_fields, same_variants};
use toolhost_call::sharing::{ShareError, SharedFile};
use toolhost_state::unix_time;
use toolhost_workspace::files::{
    Chunk, Entry, Error, Kind, Metadata, Precondition, Removal, Skipped, Write,
};

same_variants!(Kind => wit::Kind { File, Directory, Symlink, Other });
same_fields!(Chunk => wit::Chunk { data, size, version, identity });
same_fields!(Skipped => wit::Skipped { offset, lines, size });
same_fields!(Entry => wit::Entry { name, kind });

impl From<wit::Removal> for Removal {
    fn from(removal: wit::Removal) -> Self {
        Self {
            path: removal.path,
            version: removal.version,
            moved_to: removal.moved_to,
        }
    }
}

impl From<Metadata> for wit::Metadata {
    fn from(metadata: Metadata) -> Self {
        Self {
            kind: metadata.kind.into(),
            size: metadata.size,
            modified_ms: unix_time::to_ms(metadata.modified),
            version: metadata.version,
            identity: metadata.identity,
            real_path: metadata.path.to_string_lossy().into_owned(),
        }
    }
}

impl From<SharedFile> for wit::SharedFile {
    fn from(shared: SharedFile) -> Self {
        Self {
            url: shared.url,
            expires_ms: unix_time::to_ms(shared.expires_at),
            name: shared.name,
            size: shared.size,
            media_type: shared.media_type.to_owned(),
        }
    }
}

impl From<ShareError> for wit::Error {
    fn from(error: ShareError) -> Self {
        match error {
            ShareError::File(error) => error.into(),
            ShareError::Lifetime(_) | ShareError::Path => Self::Invalid(error.to_string()),
            ShareError::NoAddress | ShareError::TooMany => Self::Failed(error.to_string()),
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
            Error::Busy(text) | Error::Unavailable(text) => Self::Unavailable(text),
            Error::UnknownOutcome(text) => Self::UnknownOutcome(text),
            error @ (Error::NoSpace | Error::NotEmpty) => Self::Failed(error.to_string()),
            Error::Failed(text) => Self::Failed(text),
        }
    }
}
