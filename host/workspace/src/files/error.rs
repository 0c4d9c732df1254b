//! Why an operation on files failed.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

/// Why an operation on files failed. The texts are for whoever asked, which is often a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
pub enum Error {
    /// The path, or what else was asked for, cannot be.
    #[error("{0}")]
    Invalid(String),
    /// It was not granted, or the operating system refused.
    #[error("{0}")]
    Denied(String),
    /// There is nothing at the path.
    #[error("no such file or directory")]
    NotFound,
    /// The path names something that is not a regular file.
    #[error("not a regular file")]
    NotAFile,
    /// The path, or what it goes through, names something that is not a directory.
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
    /// It is larger than is possible here; the number is what is, in bytes.
    #[error("larger than {0} bytes, the most that is possible here")]
    TooLarge(u64),
    /// A precondition does not hold.
    #[error("{0}")]
    Changed(String),
    /// The workspace cannot be reached. Nothing was done.
    #[error("the workspace cannot be reached: {0}")]
    Unavailable(String),
    /// It may have been done, or be done in part.
    #[error("it is not known what was done: {0}")]
    UnknownOutcome(String),
    /// It failed in another way.
    #[error("{0}")]
    Failed(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let Some(errno) = Errno::from_io_error(&error) else {
            // What cap-std refuses by itself: only an escape has no number.
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
            Errno::NOSPC | Errno::DQUOT => Self::Failed("no space left on device".into()),
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
