//! Removal of directories in which commands wrote, which can have any depth and any mode.

use std::fs::{self, DirEntry, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a directory and everything below. No command may be able to write there any more.
///
/// `std::fs::remove_dir_all` needs a descriptor and a stack frame for each level, so on a deep directory it could fail or crash the host.
/// This function moves every subdirectory to the top before it removes the files in it. It follows no links.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    open_up(directory)?;
    let mut moved = 0;
    loop {
        let mut is_empty = true;
        for entry in fs::read_dir(directory)? {
            is_empty = false;
            remove_entry(&entry?, directory, &mut moved)?;
        }
        if is_empty {
            return fs::remove_dir(directory);
        }
    }
}

/// Removes an entry of the top directory. Subdirectories of the entry are moved to the top first.
fn remove_entry(entry: &DirEntry, top: &Path, moved: &mut u64) -> io::Result<()> {
    let path = entry.path();
    if !entry.file_type()?.is_dir() {
        return fs::remove_file(path);
    }
    open_up(&path)?;
    for below in fs::read_dir(&path)? {
        let below = below?;
        if below.file_type()?.is_dir() {
            // Moving a directory changes its entry `..`, and so needs write permission on the directory itself.
            open_up(&below.path())?;
            move_to(&below.path(), top, moved)?;
        } else {
            fs::remove_file(below.path())?;
        }
    }
    match fs::remove_dir(path) {
        // Some entries of a directory may be found only when it is read again.
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        result => result,
    }
}

/// Moves a directory to the top, with an unused number as its name.
fn move_to(directory: &Path, top: &Path, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match fs::rename(directory, top.join(moved.to_string())) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::DirectoryNotEmpty
                        | ErrorKind::AlreadyExists
                        | ErrorKind::NotADirectory
                ) => {}
            result => return result,
        }
    }
}

/// Gives this user all rights to a directory.
pub(crate) fn open_up(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn everything_is_removed_and_no_link_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let (outside, top) = (root.path().join("outside"), root.path().join("top"));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        // Their names are those under which others move up.
        for path in ["1/1/1", "2/3/4", "a/b/c/d"] {
            fs::create_dir_all(top.join(path)).unwrap();
            fs::write(top.join(path).join("file"), "x").unwrap();
            symlink(&outside, top.join(path).join("link")).unwrap();
        }
        fs::write(top.join("3"), "x").unwrap();
        symlink(&outside, top.join("4")).unwrap();
        for path in ["a/b", "a", ""] {
            fs::set_permissions(top.join(path), Permissions::from_mode(0o0)).unwrap();
        }
        remove(&top).unwrap();
        assert!(!top.exists());
        assert_eq!(fs::read(outside.join("file")).unwrap(), b"x");
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let error = remove(&root.path().join("none")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
