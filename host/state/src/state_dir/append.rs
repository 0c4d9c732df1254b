//! Files of a state directory that stay open while the host runs.

use std::fs::File;
use std::io;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use super::StateDir;

impl StateDir {
    /// Opens a file for reading and for writing at its end, making it with mode 0600 if it is not there.
    ///
    /// Programs that are executed do not inherit the descriptor.
    ///
    /// # Errors
    ///
    /// If it is a link, no regular file of this user, writable by others, or cannot be opened.
    pub fn append_file(&self, name: &str) -> io::Result<File> {
        self.open_kept(name, OFlag::O_APPEND)
    }

    /// Opens a file for reading and writing at any position, as [`StateDir::append_file`] does for its end.
    ///
    /// # Errors
    ///
    /// If it is a link, no regular file of this user, writable by others, or cannot be opened.
    pub fn update_file(&self, name: &str) -> io::Result<File> {
        self.open_kept(name, OFlag::empty())
    }

    fn open_kept(&self, name: &str, append: OFlag) -> io::Result<File> {
        // O_NONBLOCK: a FIFO in the place of the file must not stop us.
        let flags = append
            | OFlag::O_RDWR
            | OFlag::O_CREAT
            | OFlag::O_NOFOLLOW
            | OFlag::O_NONBLOCK
            | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = File::from(openat(&self.directory, name, flags, mode)?);
        super::check_file(&file, name)?;
        Ok(file)
    }

    /// Renames a file. A file that already has the new name is replaced.
    ///
    /// # Errors
    ///
    /// If there is no such file, or the system refuses.
    pub fn rename_file(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(nix::fcntl::renameat(
            &self.directory,
            from,
            &self.directory,
            to,
        )?)
    }

    /// Returns the inode number of a name, also of a link itself; `None` if the name does not exist.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn inode(&self, name: &str) -> io::Result<Option<u64>> {
        let flags = nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW;
        match nix::sys::stat::fstatat(&self.directory, name, flags) {
            Ok(stat) => Ok(Some(stat.st_ino)),
            Err(nix::errno::Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn opens_own_files_at_their_end_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        state.append_file("a").unwrap().write_all(b"1").unwrap();
        state.append_file("a").unwrap().write_all(b"2").unwrap();
        state.update_file("a").unwrap().write_all(b"3").unwrap();
        assert_eq!(state.read("a", 10).unwrap().unwrap(), b"32");
        let path = state.path().join("a");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        symlink(&path, state.path().join("link")).unwrap();
        state.append_file("link").unwrap_err();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o620)).unwrap();
        state.append_file("a").unwrap_err();
        state.subdirectory("d").unwrap();
        state.append_file("d").unwrap_err();
    }
}
