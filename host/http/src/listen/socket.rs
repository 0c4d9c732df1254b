//! Unix sockets: a file of this user, in a directory where no other user can replace it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::UnixListener;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// The longest path of a socket on Linux, in bytes.
const MAX_PATH: usize = 107;

/// A reason why the server cannot listen at a Unix socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The system refuses.
    #[error("cannot listen on unix:{path}: {error}", path = path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The path is longer than the system allows.
    #[error("cannot listen on unix:{path}: the path of a socket has at most {MAX_PATH} bytes", path = path.display())]
    Long {
        /// The socket.
        path: PathBuf,
    },
    /// Other users could replace the socket.
    #[error("cannot listen on unix:{path}: its directory must belong to this user or root, and others may not write to it: use one made with `mkdir -m 700`", path = path.display())]
    Directory {
        /// The socket.
        path: PathBuf,
    },
    /// Another server listens at the path.
    #[error("cannot listen on unix:{path}: a server listens there already", path = path.display())]
    Used {
        /// The socket.
        path: PathBuf,
    },
    /// The file at the path is no socket, or belongs to another user.
    #[error("cannot listen on unix:{path}: it is there already, and is no socket of this user: remove it", path = path.display())]
    Foreign {
        /// The socket.
        path: PathBuf,
    },
}

/// The file of a socket, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode of the socket. A file that has replaced it is not removed.
    is: (u64, u64),
    mode: u32,
    /// The lock by which servers keep each other out. The kernel releases it, however this process ends.
    _lock: Flock<File>,
}

impl SocketFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether only this user, and root, can connect.
    pub(super) fn is_private(&self) -> bool {
        self.mode & 0o077 == 0
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = std::fs::symlink_metadata(&self.path);
        if !found.is_ok_and(|found| identity(&found) == self.is) {
            return;
        }
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket stays behind");
        }
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Listens at a path. No client can connect before the socket has its mode.
pub(super) fn bind(path: PathBuf, mode: u32) -> Result<(UnixListener, SocketFile), SocketError> {
    let io = |error: io::Error| SocketError::Io {
        path: path.clone(),
        error,
    };
    if path.as_os_str().len() > MAX_PATH {
        return Err(SocketError::Long { path });
    }
    if !is_safe(path.parent().unwrap_or(&path)).map_err(io)? {
        return Err(SocketError::Directory { path });
    }
    let lock = match lock(&path) {
        Ok(Some(lock)) => lock,
        Ok(None) => return Err(SocketError::Used { path }),
        Err(error) => return Err(io(error)),
    };
    match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
        Ok(found) => {
            let own = nix::unistd::geteuid().as_raw();
            if !found.file_type().is_socket() || found.uid() != own {
                return Err(SocketError::Foreign { path });
            }
            match UnixStream::connect(&path) {
                // No server listens at the socket any more.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(&path).map_err(io)?;
                }
                // Every other result means that the socket is in use, also the errors of a full queue and of another socket
                // type.
                _ => return Err(SocketError::Used { path }),
            }
        }
    }
    let listener = listen(&path, mode).map_err(io)?;
    let found = std::fs::symlink_metadata(&path).map_err(io)?;
    let is = identity(&found);
    let file = SocketFile {
        path,
        is,
        mode,
        _lock: lock,
    };
    Ok((listener, file))
}

fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path.as_os_str().as_bytes())?)?;
    // Until the socket listens, the kernel refuses connections.
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode))?;
    rustix::net::listen(&socket, BACKLOG)?;
    UnixListener::from_std(socket.into())
}

/// Returns whether only this user and root can replace files in a directory.
fn is_safe(directory: &Path) -> io::Result<bool> {
    let found = std::fs::metadata(directory)?;
    let own = nix::unistd::geteuid().as_raw();
    let is_ours = found.uid() == own || found.uid() == 0;
    Ok(found.is_dir() && is_ours && found.mode() & 0o022 == 0)
}

/// Takes the lock of a path; `None` if another server has it. The lock file is never removed: otherwise, of two servers, one
/// could lock the old file and one a new one.
fn lock(path: &Path) -> io::Result<Option<Flock<File>>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let mut options = File::options();
    let options = options.create(true).append(true).mode(0o600);
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = options.custom_flags(flags.bits()).open(name)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode_of(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[tokio::test]
    async fn a_socket_is_private_and_goes_with_its_server() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        for mode in [0o600, 0o660, 0o666] {
            let (listener, file) = bind(path.clone(), mode).unwrap();
            assert_eq!((mode_of(&path), file.is_private()), (mode, mode == 0o600));
            let again = bind(path.clone(), mode).unwrap_err();
            assert!(matches!(again, SocketError::Used { .. }), "{again}");
            drop(listener);
            drop(file);
            assert!(!path.exists());
        }
        // A file that has replaced the socket is not removed.
        let (_listener, file) = bind(path.clone(), 0o600).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "other").unwrap();
        drop(file);
        let foreign = bind(path.clone(), 0o600).unwrap_err();
        assert!(matches!(foreign, SocketError::Foreign { .. }), "{foreign}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "other");
    }

    #[tokio::test]
    async fn what_a_dead_server_left_is_replaced_and_what_a_live_one_has_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        // A socket of another program, which takes no lock.
        let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let used = bind(path.clone(), 0o600).unwrap_err();
        assert!(matches!(used, SocketError::Used { .. }), "{used}");
        drop(other);
        let (_listener, _file) = bind(path.clone(), 0o600).unwrap();
        UnixStream::connect(&path).unwrap();
    }

    #[tokio::test]
    async fn of_many_that_want_a_path_one_gets_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let tries = (0..16).map(|_| {
            let path = path.clone();
            tokio::task::spawn_blocking(move || bind(path, 0o600))
        });
        let tries: Vec<_> = tries.collect();
        let mut won = Vec::new();
        for tried in tries {
            won.extend(tried.await.unwrap().ok());
        }
        assert_eq!(won.len(), 1);
        UnixStream::connect(&path).unwrap();
    }

    #[tokio::test]
    async fn a_directory_that_others_may_write_to_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for mode in [0o777, 0o1777, 0o770] {
            let shared = directory.path().join("shared");
            _ = std::fs::create_dir(&shared);
            std::fs::set_permissions(&shared, PermissionsExt::from_mode(mode)).unwrap();
            let refused = bind(shared.join("socket"), 0o600).unwrap_err();
            assert!(
                matches!(refused, SocketError::Directory { .. }),
                "{refused}"
            );
        }
        let long = directory.path().join("x".repeat(200));
        let refused = bind(long, 0o600).unwrap_err();
        assert!(matches!(refused, SocketError::Long { .. }), "{refused}");
        let missing = bind(directory.path().join("none/socket"), 0o600).unwrap_err();
        assert!(matches!(missing, SocketError::Io { .. }), "{missing}");
    }
}
