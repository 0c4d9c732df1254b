//! Errors of operations on files.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

/// An error of an operation on files. The texts are for the caller, often a model.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    thiserror::Error,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub enum Error {
    /// The path, or another argument, is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The operation was not granted, or the operating system refused it.
    #[error("{0}")]
    Denied(String),
    /// There is nothing at the path.
    #[error("no such file or directory")]
    NotFound,
    /// The path names something that is not a regular file.
    #[error("not a regular file")]
    NotAFile,
    /// The path, or a part of it, names a file that is not a directory.
    #[error("not a directory")]
    NotADirectory,
    /// The path leads out of all roots.
    #[error("{path} is outside of the workspace {workspace}", workspace = .workspace.display())]
    OutsideWorkspace {
        /// The path that was asked for.
        path: String,
        /// The directory that relative paths begin at.
        workspace: PathBuf,
    },
    /// The file or argument is too large; the number is the most that is possible, in bytes.
    #[error("larger than {0} bytes, the most that is possible here")]
    TooLarge(u64),
    /// The directory has files in it.
    #[error("directory not empty")]
    NotEmpty,
    /// The disk is full, or a quota is used up.
    #[error("no space left on device")]
    NoSpace,
    /// A precondition does not hold.
    #[error("{0}")]
    Changed(String),
    /// This machine has no room for the operation now: descriptors or memory are short. Nothing was done.
    #[error("{0}")]
    Busy(String),
    /// The workspace cannot be reached. Nothing was done.
    #[error("the workspace cannot be reached: {0}")]
    Unavailable(String),
    /// The operation may have been done, or done in part.
    #[error("it is not known what was done: {0}")]
    UnknownOutcome(String),
    /// It failed in another way.
    #[error("{0}")]
    Failed(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let Some(errno) = Errno::from_io_error(&error) else {
            // An error of cap-std itself has no error number; its only such refusal is that of an escape.
            return match error.kind() {
                io::ErrorKind::PermissionDenied => Self::Denied("permission denied".into()),
                _ => Self::Failed(error.to_string()),
            };
        };
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::ISDIR => Self::NotAFile,
            Errno::ACCESS | Errno::PERM => Self::Denied("permission denied".into()),
            Errno::ROFS => Self::Denied("read-only file system".into()),
            Errno::NAMETOOLONG => Self::Invalid("file name too long".into()),
            Errno::LOOP => Self::Invalid("too many symbolic links".into()),
            Errno::MFILE | Errno::NFILE => {
                Self::Busy("the host has no descriptor left for a file; try again later".into())
            }
            Errno::NOMEM => {
                Self::Busy("the host has no memory left for a file; try again later".into())
            }
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace,
            Errno::NOTEMPTY => Self::NotEmpty,
            _ => {
                let text = error.to_string();
                let text = text.split(" (os error").next().unwrap_or_default();
                Self::Failed(text.to_lowercase())
            }
        }
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}
