//! The lock of a state directory: at most one host uses it, because only one may recover what another left behind.

use std::fs::File;
use std::io::{self, Read, Write};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::{StateDir, StateDirError};

/// The file that is locked. It is never removed: of two hosts, one could lock the old file and one the new.
const NAME: &str = "lock";

/// The longest text of a pid that is looked at, in bytes.
const MAX_PID: u64 = 16;

/// The right to use a state directory, until it is dropped or this process ends, however it ends.
///
/// No child process inherits it: the descriptor is closed when a program is executed.
#[derive(Debug)]
pub struct Lock {
    /// Kept for its drop, which gives the lock back.
    _file: Flock<File>,
}

impl StateDir {
    /// Takes the lock of the directory, without waiting.
    ///
    /// The file `lock` holds the pid of its holder as text, which is for messages only: the kernel's lock counts.
    ///
    /// # Errors
    ///
    /// [`StateDirError::Locked`] if another holder has it, even one in this process; [`StateDirError::Io`] if the file is a
    /// link, no regular file of this user, writable by others, or the system refuses.
    pub fn lock(&self) -> Result<Lock, StateDirError> {
        let io = |source| StateDirError::Io {
            path: self.path.clone(),
            source,
        };
        let mut lock = self.lock_file(self.append_file(NAME).map_err(io)?)?;
        // A full disk is no reason to refuse: the lock is held, and only a message will lack the pid.
        _ = write_pid(&mut lock._file);
        Ok(lock)
    }

    /// Takes the lock for a program that only reads, without a change of any file; `None` if there was never a host.
    ///
    /// # Errors
    ///
    /// As for [`StateDir::lock`].
    pub fn lock_to_read(&self) -> Result<Option<Lock>, StateDirError> {
        let file = self.open_file(NAME).map_err(|source| StateDirError::Io {
            path: self.path.clone(),
            source,
        })?;
        file.map(|file| self.lock_file(file)).transpose()
    }

    fn lock_file(&self, file: File) -> Result<Lock, StateDirError> {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Lock { _file: file }),
            Err((file, Errno::EWOULDBLOCK)) => Err(StateDirError::Locked {
                path: self.path.clone(),
                pid: read_pid(file),
            }),
            Err((_, errno)) => Err(StateDirError::Io {
                path: self.path.clone(),
                source: errno.into(),
            }),
        }
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// Returns the pid in the lock file; `None` also while the holder has not written it yet.
fn read_pid(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(MAX_PID).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The part of a message that names the holder.
pub fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    use super::*;

    #[test]
    fn there_is_one_holder_at_a_time() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("state");
        let first = StateDir::open(&path).unwrap();
        let second = StateDir::open(&path).unwrap();
        let lock = first.lock().unwrap();
        let error = second.lock().unwrap_err();
        let own = std::process::id();
        assert!(matches!(error, StateDirError::Locked { pid: Some(pid), .. } if pid == own));
        let text = format!(
            "another toolhost (pid {own}) uses the state directory {}: end it, or name another directory with --state-dir",
            path.display()
        );
        assert_eq!(error.to_string(), text);
        first.lock().unwrap_err();
        drop(lock);
        let lock = second.lock().unwrap();
        let mode = std::fs::metadata(path.join(NAME))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o600);
        // A lock whose holder has not written its pid is still refused, with a text that makes sense.
        std::fs::write(path.join(NAME), "nonsense").unwrap();
        let error = first.lock().unwrap_err();
        assert!(error.to_string().starts_with("another toolhost uses"));
        drop(lock);
        first.lock().unwrap();
    }

    #[test]
    fn no_program_inherits_it() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        let lock = state.lock().unwrap();
        let flags = fcntl(&*lock._file, FcntlArg::F_GETFD).unwrap();
        assert!(FdFlag::from_bits_retain(flags).contains(FdFlag::FD_CLOEXEC));
    }

    #[test]
    fn a_reader_makes_no_file() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("state");
        assert!(StateDir::existing(&path).unwrap().is_none());
        assert!(!path.exists());
        std::fs::create_dir(&path).unwrap();
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, readable).unwrap();
        let reader = StateDir::existing(&path).unwrap().unwrap();
        assert!(reader.lock_to_read().unwrap().is_none());
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let host = StateDir::open(&path).unwrap();
        let lock = host.lock().unwrap();
        let pid = std::fs::read(path.join(NAME)).unwrap();
        assert!(matches!(
            reader.lock_to_read().unwrap_err(),
            StateDirError::Locked { .. }
        ));
        drop(lock);
        let lock = reader.lock_to_read().unwrap().unwrap();
        host.lock().unwrap_err();
        drop(lock);
        host.lock().unwrap();
        assert_eq!(std::fs::read(path.join(NAME)).unwrap(), pid);
    }

    #[test]
    fn planted_files_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        let target = base.path().join("target");
        let name = state.path().join(NAME);
        symlink(&target, &name).unwrap();
        assert!(matches!(
            state.lock().unwrap_err(),
            StateDirError::Io { .. }
        ));
        assert!(!target.exists(), "a link is not even followed to nothing");
        std::fs::write(&target, "precious").unwrap();
        state.lock().unwrap_err();
        assert_eq!(std::fs::read(&target).unwrap(), b"precious");
        std::fs::remove_file(&name).unwrap();
        nix::unistd::mkfifo(&name, nix::sys::stat::Mode::S_IRWXU).unwrap();
        state.lock().unwrap_err();
        std::fs::remove_file(&name).unwrap();
        state.lock().unwrap();
    }
}
