//! Files that are nobody else's business: tokens and keys.

use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The largest such file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Why a file with a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// It cannot be read.
    #[error("{path} cannot be read: {error}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Others may read or change it.
    #[error("others may use {path} (mode {mode:o}): run `chmod 600` on it", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to somebody else, who may change it at any time.
    #[error("{path} belongs to user {owner}, and has to belong to user {user} or root", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Who runs this.
        user: u32,
    },
}

/// Reads a text that only its owner may change, and only its owner and group may read: mode 0640 or less, of this user or root.
///
/// # Errors
///
/// If it is something else, no file, larger than 1 MiB, no UTF-8, or cannot be read.
pub fn read_private(path: &Path) -> Result<String, PrivateFileError> {
    let io = |error| PrivateFileError::Unreadable {
        path: path.into(),
        error,
    };
    // A FIFO in the place of the file must not stop us.
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(flags).open(path);
    let file = file.map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(io(io::Error::other("it is no file")));
    }
    let (owner, user) = (metadata.uid(), nix::unistd::geteuid().as_raw());
    if owner != user && owner != 0 {
        let path = path.into();
        return Err(PrivateFileError::Foreign { path, owner, user });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o027 != 0 {
        let path = path.into();
        return Err(PrivateFileError::Open { path, mode });
    }
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    read.map_err(io)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io(io::Error::other("it is larger than 1 MiB")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_files_that_are_private_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let read = |mode| {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            read_private(&path)
        };
        for good in [0o600, 0o400, 0o640, 0o440, 0o700] {
            assert_eq!(read(good).unwrap(), "text", "{good:o}");
        }
        for open in [0o644, 0o604, 0o660, 0o602, 0o601, 0o666] {
            let error = read(open).unwrap_err();
            assert!(matches!(error, PrivateFileError::Open { .. }), "{open:o}");
        }
        read(0o600).unwrap();
        // As secrets that are mounted are given out.
        let link = directory.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(read_private(&link).unwrap(), "text");
        for other in [
            directory.path().to_owned(),
            directory.path().join("nothing"),
        ] {
            let error = read_private(&other).unwrap_err();
            assert!(
                matches!(error, PrivateFileError::Unreadable { .. }),
                "{error}"
            );
        }
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(read_private(&pipe).is_err());
    }
}
