//! The state directory: the one directory in which Toolhost keeps its own files.
//!
//! The directory belongs to the user that runs Toolhost, and only this user can access it. Files in it are opened relative to its
//! descriptor, and without following symbolic links. In the path of the directory itself, only the last component must not be a link. So
//! a user that can replace a directory above it decides where the state is.

mod append;
mod key;
mod lock;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, UtimensatFlags, fchmod, fstat, mkdirat, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::geteuid;

pub use lock::Lock;
pub use lock::holder;

/// An open directory that only its owner can use, which is the user that runs this process.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    directory: OwnedFd,
}

/// A reason why a directory cannot be the state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// The system refused.
    #[error("the state directory {path} cannot be used", path = path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another user owns it.
    #[error("the state directory {path} belongs to user {owner}, not to user {user}: run this as that user (`sudo -u`), or name another directory with --state-dir", path = path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user that runs this process.
        user: u32,
    },
    /// Other users may write to it, so any file in it may be theirs.
    #[error("others may write to the state directory {path} (mode {mode:o}): name one of its own with --state-dir, or if it is Toolhost's alone, empty it and run `chmod 700` on it", path = path.display())]
    Shared {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Other users may read it, and nothing shows that Toolhost made it. So Toolhost does not change its mode.
    #[error("others may read {path} (mode {mode:o}), which Toolhost did not make: name one of its own with --state-dir, or if it is Toolhost's alone, run `chmod 700` on it", path = path.display())]
    Readable {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another host has its [`Lock`].
    #[error("another toolhost{} uses the state directory {path}: end it, or name another directory with --state-dir", holder(*pid), path = path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The process that has the lock; `None` if the lock file does not name it.
        pid: Option<u32>,
    },
}

/// The file that marks a directory as a state directory: the key of the code cache.
pub const MARK: &str = "cache.key";

impl AsFd for StateDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl StateDir {
    /// Returns `$XDG_STATE_HOME/toolhost`, or `~/.local/state/toolhost`; `None` if neither variable is an absolute path.
    pub fn default_path() -> Option<PathBuf> {
        Self::of_user("XDG_STATE_HOME", ".local/state")
    }

    /// Returns the directory for what all hosts of a user share and can make again: `$XDG_CACHE_HOME/toolhost`, or `~/.cache/toolhost`;
    /// `None` if neither variable is an absolute path.
    pub fn default_cache_path() -> Option<PathBuf> {
        Self::of_user("XDG_CACHE_HOME", ".cache")
    }

    fn of_user(name: &str, below_home: &str) -> Option<PathBuf> {
        let variable = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let base = variable(name).or_else(|| variable("HOME").map(|home| home.join(below_home)));
        base.map(|base| base.join("toolhost"))
    }

    /// Opens the directory, or makes it with mode 0700. If other users can read an existing state directory, its mode becomes 0700.
    ///
    /// # Errors
    ///
    /// If it is a symbolic link or no directory, belongs to another user, or can be written by others. If others can read it and it is
    /// not a state directory yet.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        let path = lasting(path);
        let io = |source| StateDirError::Io {
            path: path.clone(),
            source,
        };
        let made = make(&path).map_err(io)?;
        let directory =
            nix::fcntl::open(&path, DIRECTORY, Mode::empty()).map_err(|errno| io(errno.into()))?;
        Self::check(directory, path, made)
    }

    /// Opens an existing directory without changing it, not even its mode; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it is a symbolic link or no directory, belongs to another user, or can be written by others.
    pub fn existing(path: &Path) -> Result<Option<Self>, StateDirError> {
        let path = lasting(path);
        let directory = match nix::fcntl::open(&path, DIRECTORY, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => {
                let source = errno.into();
                return Err(StateDirError::Io { path, source });
            }
        };
        Self::check_owner(&directory, &path)?;
        Ok(Some(Self { path, directory }))
    }

    /// Opens a directory in this one, or makes it.
    ///
    /// # Errors
    ///
    /// As for [`StateDir::open`].
    pub fn subdirectory(&self, name: &str) -> Result<Self, StateDirError> {
        let path = self.path.join(name);
        let io = |errno: Errno| StateDirError::Io {
            path: path.clone(),
            source: errno.into(),
        };
        match mkdirat(&self.directory, name, Mode::S_IRWXU) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(io(errno)),
        }
        let directory = openat(&self.directory, name, DIRECTORY, Mode::empty()).map_err(io)?;
        // A directory in our directory is ours.
        Self::check(directory, path, true)
    }

    /// Opens a directory in this one; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As for [`StateDir::open`].
    pub fn existing_subdirectory(&self, name: &str) -> Result<Option<Self>, StateDirError> {
        let path = self.path.join(name);
        match openat(&self.directory, name, DIRECTORY, Mode::empty()) {
            // A directory in our directory is ours.
            Ok(directory) => Self::check(directory, path, true).map(Some),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(StateDirError::Io {
                path,
                source: errno.into(),
            }),
        }
    }

    /// Removes a directory in this one with the files in it. A missing directory is no error.
    ///
    /// # Errors
    ///
    /// If it is a link, holds a directory, or the system refuses. The files that could be removed are gone.
    pub fn remove_subdirectory(&self, name: &str) -> io::Result<()> {
        let directory = match self.existing_subdirectory(name) {
            Ok(Some(directory)) => directory,
            Ok(None) => return Ok(()),
            Err(StateDirError::Io { source, .. }) => return Err(source),
            Err(error) => return Err(io::Error::other(error)),
        };
        let mut removed = Ok(());
        for Entry { name, .. } in directory.entries()? {
            removed = removed.and(directory.remove(&name));
        }
        removed?;
        let flag = nix::unistd::UnlinkatFlags::RemoveDir;
        match nix::unistd::unlinkat(&self.directory, name, flag) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn check(directory: OwnedFd, path: PathBuf, ours: bool) -> Result<Self, StateDirError> {
        let mode = Self::check_owner(&directory, &path)?;
        if mode & 0o077 != 0 {
            let known = || {
                let flags = nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW;
                nix::sys::stat::fstatat(&directory, MARK, flags).is_ok()
            };
            if !ours && !known() {
                return Err(StateDirError::Readable { path, mode });
            }
            fchmod(&directory, Mode::S_IRWXU).map_err(|errno| StateDirError::Io {
                path: path.clone(),
                source: errno.into(),
            })?;
        }
        Ok(Self { path, directory })
    }

    /// Refuses a directory of another user, or one that others may write to. Returns its permission bits.
    fn check_owner(directory: &OwnedFd, path: &Path) -> Result<u32, StateDirError> {
        let path = path.to_path_buf();
        let stat = match fstat(directory) {
            Ok(stat) => stat,
            Err(errno) => {
                let source = errno.into();
                return Err(StateDirError::Io { path, source });
            }
        };
        let user = geteuid().as_raw();
        if stat.st_uid != user {
            return Err(StateDirError::Foreign {
                path,
                owner: stat.st_uid,
                user,
            });
        }
        let mode = stat.st_mode & 0o7777;
        if mode & 0o022 != 0 {
            return Err(StateDirError::Shared { path, mode });
        }
        Ok(mode)
    }

    /// Returns the path by which the directory was opened. Use it in messages only: [`StateDir::read`] opens files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a regular file of at most `max` bytes that belongs to this user; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it is a link, no regular file, larger, owned by another user, writable by others, or cannot be read.
    pub fn read(&self, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.open_file(name)? else {
            return Ok(None);
        };
        let size = file.metadata()?.len();
        if size > max {
            return Err(not_ours(name));
        }
        let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        io::Read::read_to_end(&mut io::Read::take(file, max), &mut data)?;
        Ok(Some(data))
    }

    /// Opens a regular file that belongs to this user for reading; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it is a link, no regular file, owned by another user, writable by others, or cannot be opened.
    pub fn open_file(&self, name: &str) -> io::Result<Option<File>> {
        // O_NONBLOCK: a FIFO in the place of the file must not block the open.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        check_file(&file, name)?;
        Ok(Some(file))
    }

    /// Makes an empty file with mode 0600, open for reading and writing. Use it for files that grow under their name, and
    /// [`StateDir::write`] for files that are complete from the start.
    ///
    /// # Errors
    ///
    /// If the name is taken, even by a link, or the system refuses.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        Ok(File::from(openat(&self.directory, name, flags, mode)?))
    }

    /// Writes a file with mode 0600 that is complete before it has its name. An older file of the name is replaced.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, data: &[u8]) -> io::Result<()> {
        let (partial, _) = self.write_partial(name, data)?;
        self.rename(&partial, name)
    }

    /// Writes a file from consecutive parts, as [`StateDir::write`] does.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write_parts(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let (partial, mut file) = self.write_partial(name, &[])?;
        let written = parts
            .iter()
            .try_for_each(|part| io::Write::write_all(&mut file, part));
        match written {
            Ok(()) => self.rename(&partial, name),
            Err(error) => {
                _ = self.remove(&partial);
                Err(error)
            }
        }
    }

    /// Writes a file as [`StateDir::write`] does, but only if there is none. Returns whether there was none.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn create(&self, name: &str, data: &[u8]) -> io::Result<bool> {
        let (partial, _) = self.write_partial(name, data)?;
        let directory = self.directory.as_fd();
        let linked = nix::unistd::linkat(
            directory,
            partial.as_str(),
            directory,
            name,
            nix::fcntl::AtFlags::empty(),
        );
        let existed = linked == Err(Errno::EEXIST);
        self.remove(&partial)?;
        if existed {
            Ok(false)
        } else {
            linked.map(|()| true).map_err(io::Error::from)
        }
    }

    fn write_partial(&self, name: &str, data: &[u8]) -> io::Result<(String, File)> {
        let partial = format!(".{name}.{}", uuid::Uuid::new_v4().simple());
        let mut file = self.create_file(&partial)?;
        match io::Write::write_all(&mut file, data) {
            Ok(()) => Ok((partial, file)),
            Err(error) => {
                _ = self.remove(&partial);
                Err(error)
            }
        }
    }

    fn rename(&self, partial: &str, name: &str) -> io::Result<()> {
        let renamed = nix::fcntl::renameat(&self.directory, partial, &self.directory, name);
        if renamed.is_err() {
            _ = self.remove(partial);
        }
        Ok(renamed?)
    }

    /// Removes a file. A missing file is no error.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match nix::unistd::unlinkat(
            &self.directory,
            name,
            nix::unistd::UnlinkatFlags::NoRemoveDir,
        ) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sets the time of a file's last change to now.
    ///
    /// # Errors
    ///
    /// If there is no such file, or its times cannot be set.
    pub fn touch(&self, name: &str) -> io::Result<()> {
        let now = TimeSpec::UTIME_NOW;
        let link = UtimensatFlags::NoFollowSymlink;
        Ok(utimensat(&self.directory, name, &now, &now, link)?)
    }

    /// Lists the files in the directory.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut directory = nix::dir::Dir::openat(&self.directory, ".", DIRECTORY, Mode::empty())?;
        let mut entries = Vec::new();
        for entry in directory.iter() {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            if let Ok(stat) = nix::sys::stat::fstatat(
                &self.directory,
                name,
                nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW,
            ) {
                entries.push(Entry {
                    name: name.to_owned(),
                    changed: (stat.st_mtime, stat.st_mtime_nsec),
                    size: u64::try_from(stat.st_size).unwrap_or(0),
                });
            }
        }
        Ok(entries)
    }
}

/// A file of a state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the file.
    pub name: String,
    /// The time of the file's last change, in seconds and nanoseconds since the Unix epoch.
    pub changed: (i64, i64),
    /// The length of the file in bytes.
    pub size: u64,
}

/// Returns whether an error means that the disk is full. The host can run commands on a full disk.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Refuses a file that is not regular, or that another user may have written.
fn check_file(file: &File, name: &str) -> io::Result<()> {
    let stat = fstat(file)?;
    let regular = stat.st_mode & nix::libc::S_IFMT == nix::libc::S_IFREG;
    if !regular || stat.st_uid != geteuid().as_raw() || stat.st_mode & 0o022 != 0 {
        return Err(not_ours(name));
    }
    Ok(())
}

fn not_ours(name: &str) -> io::Error {
    io::Error::other(format!("{name} is not a file that this user wrote"))
}

/// Returns the absolute path, which helper processes with another current directory can use, without `/` and `/.` at its end, because a
/// link with such an end would be followed.
fn lasting(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    path.components().collect()
}

/// Makes a directory and its missing parents. Returns whether the directory itself was missing.
fn make(path: &Path) -> io::Result<bool> {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    if let Some(parent) = path.parent() {
        builder.recursive(true).create(parent)?;
    }
    match builder.recursive(false).create(path) {
        Ok(()) => {
            // Sync the parent, so that the directory is found after a power failure. This is only a best effort.
            _ = File::open(path.parent().unwrap_or(path)).and_then(|parent| parent.sync_all());
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

const DIRECTORY: OFlag = OFlag::O_RDONLY
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn makes_a_private_directory_and_files() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b");
        let state = StateDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        let sub = state.subdirectory("cache").unwrap();
        sub.write("x", b"1").unwrap();
        sub.write("x", b"22").unwrap();
        assert_eq!(sub.read("x", 10).unwrap().unwrap(), b"22");
        assert_eq!(mode(&path.join("cache/x")), 0o600);
        assert!(sub.read("x", 1).is_err());
        assert_eq!(sub.read("y", 1).unwrap(), None);
        assert!(sub.create("k", b"1").unwrap());
        assert!(!sub.create("k", b"2").unwrap());
        assert_eq!(sub.read("k", 1).unwrap().unwrap(), b"1");
        let mut names: Vec<_> = sub
            .entries()
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        names.sort();
        assert_eq!(names, ["k", "x"]);
    }

    #[test]
    fn refuses_what_others_could_have_made() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("state");
        StateDir::open(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let error = StateDir::open(&path).unwrap_err();
        assert!(
            matches!(error, StateDirError::Readable { mode: 0o755, .. }),
            "{error}"
        );
        assert_eq!(mode(&path), 0o755, "somebody else's choice is left alone");
        std::fs::write(path.join(MARK), "").unwrap();
        StateDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700, "a readable state directory is closed");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        let error = StateDir::open(&path).unwrap_err();
        assert!(
            matches!(error, StateDirError::Shared { mode: 0o777, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("chmod 700"));
        let link = base.path().join("link");
        symlink(base.path(), &link).unwrap();
        for end in ["", "/", "/.", "//./"] {
            let link = format!("{}{end}", link.display());
            let error = StateDir::open(Path::new(&link)).unwrap_err();
            assert!(matches!(error, StateDirError::Io { .. }), "{link}: {error}");
        }
        std::fs::write(base.path().join("file"), "").unwrap();
        assert!(StateDir::open(&base.path().join("file")).is_err());
    }

    #[test]
    fn follows_no_links_to_files_and_waits_for_no_fifo() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        std::fs::write(base.path().join("target"), "secret").unwrap();
        symlink(base.path().join("target"), state.path().join("link")).unwrap();
        assert!(state.read("link", 100).is_err());
        nix::unistd::mkfifo(&state.path().join("fifo"), Mode::S_IRWXU).unwrap();
        assert!(state.read("fifo", 100).is_err());
        std::fs::write(state.path().join("shared"), "x").unwrap();
        std::fs::set_permissions(
            state.path().join("shared"),
            PermissionsExt::from_mode(0o666),
        )
        .unwrap();
        assert!(state.read("shared", 100).is_err());
    }

    #[test]
    fn files_grow_under_their_name_and_go_with_their_directory() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        assert!(state.existing_subdirectory("sub").unwrap().is_none());
        let sub = state.subdirectory("sub").unwrap();
        let mut file = sub.create_file("x").unwrap();
        io::Write::write_all(&mut file, b"grows").unwrap();
        assert_eq!(mode(&sub.path().join("x")), 0o600);
        assert!(sub.create_file("x").is_err(), "a name is used once");
        let sub = state.existing_subdirectory("sub").unwrap().unwrap();
        let mut file = sub.open_file("x").unwrap().unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "grows");
        let target = base.path().join("target");
        std::fs::write(&target, "").unwrap();
        symlink(&target, sub.path().join("link")).unwrap();
        assert!(sub.create_file("link").is_err());
        assert!(sub.open_file("link").is_err());
        symlink(base.path(), state.path().join("elsewhere")).unwrap();
        assert!(state.existing_subdirectory("elsewhere").is_err());
        assert!(state.remove_subdirectory("elsewhere").is_err());
        state.remove_subdirectory("sub").unwrap();
        state.remove_subdirectory("sub").unwrap();
        assert!(!sub.path().exists() && target.exists());
    }
}
