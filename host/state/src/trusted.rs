//! Files that control the host: the configuration, components, hooks, tokens and keys. A user that can change one of them has
//! the powers of the operator, so only the operator may be able to change them.
//!
//! There is one rule. The file belongs to the user that runs this process, or to root, and neither its group nor others may
//! write it. The same holds for the directory of the file, but a directory with the sticky bit, as `/tmp` has, may be
//! writable. For a symbolic link, it holds for the directories of the link and of its target. A file with a secret cannot be
//! read by others either.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The most symbolic links on the way to a file, as in Linux.
const MAX_LINKS: usize = 40;

/// The largest text that is read, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// Permission bits: writing by group or others, use of a secret by others or writing by the group, and the sticky bit.
const WRITE: u32 = 0o022;
const SECRET: u32 = 0o027;
const STICKY: u32 = 0o1000;

/// A reason why a file or directory cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum UntrustedError {
    /// It cannot be read.
    #[error("{path} cannot be read: {error}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Others may use a file with a secret.
    #[error("others may use {path} (mode {mode:o}): run `chmod 600` on it", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Others may change it.
    #[error("others may change {path} (mode {mode:o}): run `chmod go-w` on it", path = path.display())]
    Writable {
        /// The file or directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to another user. That user may change it at any time.
    #[error("{path} belongs to user {owner}, and has to belong to user {user} or root: run `chown` on it", path = path.display())]
    Foreign {
        /// The file or directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user that runs this program.
        user: u32,
    },
}

/// Opens a file that only the operator can change.
///
/// # Errors
///
/// If others can change it or its directory, or it cannot be opened.
pub fn open(path: &Path) -> Result<File, UntrustedError> {
    let (file, found) = opened(path)?;
    check(path, &found, WRITE)?;
    Ok(file)
}

/// Reads a text that only the operator can change.
///
/// # Errors
///
/// As for [`open`]; or if it is no file, larger than 1 MiB, or no UTF-8.
pub fn read(path: &Path) -> Result<String, UntrustedError> {
    let (file, found) = opened(path)?;
    check(path, &found, WRITE)?;
    text(path, file, &found)
}

/// Reads a text that only the operator can change, and only the operator and the group of the file can read.
///
/// # Errors
///
/// As for [`read`]; or if others can read it.
pub fn read_private(path: &Path) -> Result<String, UntrustedError> {
    let (file, found) = opened(path)?;
    if found.mode() & SECRET != 0 {
        check_owner(path, &found)?;
        let mode = found.mode() & 0o7777;
        let path = path.into();
        return Err(UntrustedError::Open { path, mode });
    }
    check(path, &found, SECRET)?;
    text(path, file, &found)
}

/// Checks a program that the operator has configured to be run, which need not be readable.
///
/// # Errors
///
/// If others can change it or its directory, or it is no file.
pub fn check_program(path: &Path) -> Result<(), UntrustedError> {
    let found = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if !found.is_file() {
        return Err(unreadable(path, io::Error::other("it is no file")));
    }
    check(path, &found, WRITE)
}

/// Checks a directory whose files control the host: only the operator can add files.
///
/// # Errors
///
/// If others can add files.
pub fn check_directory(path: &Path) -> Result<(), UntrustedError> {
    let found = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    check_owner(path, &found)?;
    if found.mode() & WRITE != 0 && found.mode() & STICKY == 0 {
        let (path, mode) = (path.into(), found.mode() & 0o7777);
        return Err(UntrustedError::Writable { path, mode });
    }
    Ok(())
}

fn unreadable(path: &Path, error: io::Error) -> UntrustedError {
    let path = path.into();
    UntrustedError::Unreadable { path, error }
}

/// Opens a file, and returns the metadata of the opened file: the path may lead elsewhere a moment later.
fn opened(path: &Path) -> Result<(File, Metadata), UntrustedError> {
    // O_NONBLOCK: a FIFO in the place of the file must not block the open.
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| unreadable(path, error))?;
    let found = file.metadata().map_err(|error| unreadable(path, error))?;
    if !found.is_file() {
        return Err(unreadable(path, io::Error::other("it is no file")));
    }
    Ok((file, found))
}

/// Checks a file that was found at a path. Users other than the owner must not have the `forbidden` permissions.
fn check(path: &Path, found: &Metadata, forbidden: u32) -> Result<(), UntrustedError> {
    check_owner(path, found)?;
    if found.mode() & forbidden != 0 {
        let (path, mode) = (path.into(), found.mode() & 0o7777);
        return Err(UntrustedError::Writable { path, mode });
    }
    check_way(path)
}

/// Checks the directories that decide which file a path names: that of the path, and that of each symbolic link on the way.
/// Also checks the owner of each link, because in a sticky directory the owner of a link decides where it leads.
fn check_way(path: &Path) -> Result<(), UntrustedError> {
    let io = |error| unreadable(path, error);
    let mut place = std::path::absolute(path).map_err(io)?;
    for _ in 0..MAX_LINKS {
        let Some(directory) = place.parent() else {
            return Ok(());
        };
        check_directory(directory)?;
        let found = std::fs::symlink_metadata(&place).map_err(io)?;
        if !found.is_symlink() {
            return Ok(());
        }
        check_owner(&place, &found)?;
        place = directory.join(std::fs::read_link(&place).map_err(io)?);
    }
    Err(io(nix::errno::Errno::ELOOP.into()))
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), UntrustedError> {
    check_user(path, found.uid(), nix::unistd::geteuid().as_raw())
}

fn check_user(path: &Path, owner: u32, user: u32) -> Result<(), UntrustedError> {
    if owner == user || owner == 0 {
        return Ok(());
    }
    let path = path.into();
    Err(UntrustedError::Foreign { path, owner, user })
}

fn text(path: &Path, file: File, found: &Metadata) -> Result<String, UntrustedError> {
    let too_large = || unreadable(path, io::Error::other("it is larger than 1 MiB"));
    if found.len() > MAX_TEXT {
        return Err(too_large());
    }
    let mut text = String::new();
    let read = file.take(MAX_TEXT + 1).read_to_string(&mut text);
    read.map_err(|error| unreadable(path, error))?;
    match text.len() as u64 > MAX_TEXT {
        true => Err(too_large()),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn only_files_that_are_private_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let read = |mode| {
            set_mode(&path, mode);
            read_private(&path)
        };
        for good in [0o600, 0o400, 0o640, 0o440, 0o700] {
            assert_eq!(read(good).unwrap(), "text", "{good:o}");
        }
        for open in [0o644, 0o604, 0o660, 0o602, 0o601, 0o666] {
            let error = read(open).unwrap_err();
            assert!(matches!(error, UntrustedError::Open { .. }), "{open:o}");
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
                matches!(error, UntrustedError::Unreadable { .. }),
                "{error}"
            );
        }
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(read_private(&pipe).is_err());
    }

    #[test]
    fn a_file_that_decides_is_changed_by_its_owner_alone() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("directory");
        std::fs::create_dir(&directory).unwrap();
        set_mode(&directory, 0o755);
        let path = directory.join("file");
        std::fs::write(&path, "text").unwrap();
        for good in [0o644, 0o755, 0o600, 0o444] {
            set_mode(&path, good);
            assert_eq!(read(&path).unwrap(), "text", "{good:o}");
        }
        for bad in [0o664, 0o646, 0o666] {
            set_mode(&path, bad);
            let error = read(&path).unwrap_err().to_string();
            let expected = format!(
                "others may change {} (mode {bad:o}): run `chmod go-w` on it",
                path.display()
            );
            assert_eq!(error, expected);
        }
        set_mode(&path, 0o644);
        let link = base.path().join("link");
        symlink(&path, &link).unwrap();
        for (mode, good) in [
            (0o775, false),
            (0o757, false),
            (0o1777, true),
            (0o755, true),
        ] {
            set_mode(&directory, mode);
            for path in [&path, &link] {
                assert_eq!(open(path).is_ok(), good, "{} {mode:o}", path.display());
            }
            assert_eq!(check_directory(&directory).is_ok(), good, "{mode:o}");
        }
    }

    #[test]
    fn files_of_other_users_are_refused() {
        let owned = |owner, user| check_user(Path::new("/x"), owner, user);
        for (owner, user) in [(1000, 1000), (0, 1000), (0, 0)] {
            owned(owner, user).unwrap();
        }
        for (owner, user) in [(1001, 1000), (1000, 0)] {
            let error = owned(owner, user).unwrap_err().to_string();
            let expected = format!(
                "/x belongs to user {owner}, and has to belong to user {user} or root: run `chown` on it"
            );
            assert_eq!(error, expected);
        }
    }

    /// A link in a directory of others could lead elsewhere tomorrow, wherever on the way it is.
    #[test]
    fn each_link_on_the_way_is_where_only_the_operator_can_change_it() {
        let base = tempfile::tempdir().unwrap();
        let (good, open) = (base.path().join("good"), base.path().join("open"));
        for directory in [&good, &open] {
            std::fs::create_dir(directory).unwrap();
        }
        let real = good.join("real");
        std::fs::write(&real, "text").unwrap();
        set_mode(&real, 0o600);
        let (middle, first) = (open.join("middle"), good.join("first"));
        symlink("../good/real", &middle).unwrap();
        symlink(&middle, &first).unwrap();
        assert_eq!(read_private(&first).unwrap(), "text");
        set_mode(&open, 0o777);
        let error = read_private(&first).unwrap_err();
        assert!(matches!(&error, UntrustedError::Writable { path, .. } if *path == open));
        set_mode(&open, 0o755);
        let circle = good.join("circle");
        symlink(&circle, &circle).unwrap();
        assert!(check_way(&circle).is_err());
    }
}
