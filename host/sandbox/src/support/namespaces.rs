//! Trying namespaces, each in a process of its own: where they are there, security modules may still refuse their use.

use std::fs::File;
use std::io::Write;

use nix::errno::Errno;
use nix::libc;

use crate::sys;

/// A kind of namespace.
#[derive(Clone, Copy)]
pub(super) enum Namespace {
    User,
    Mount,
    Pid,
    Network,
    Ipc,
}

impl Namespace {
    /// Makes such a namespace as an ordinary user would, and uses it. The error says what failed.
    pub(super) fn try_it(self) -> Result<(), String> {
        let map = |id: u32| format!("0 {id} 1");
        let users = map(rustix::process::geteuid().as_raw());
        let groups = map(rustix::process::getegid().as_raw());
        let tried = sys::in_child(|| {
            let tried = self.enter(users.as_bytes(), groups.as_bytes());
            tried
                .map_or_else(|errno| errno as i32, |()| 0)
                .try_into()
                .unwrap_or(u8::MAX)
        });
        match tried {
            Ok(0) => Ok(()),
            Ok(errno) => Err(format!("refused: {}", Errno::from_raw(errno.into()).desc())),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Runs in a forked process, and allocates nothing.
    fn enter(self, users: &[u8], groups: &[u8]) -> Result<(), Errno> {
        sys::unshare(libc::CLONE_NEWUSER)?;
        write("/proc/self/setgroups", b"deny")?;
        write("/proc/self/uid_map", users)?;
        write("/proc/self/gid_map", groups)?;
        match self {
            Self::User => Ok(()),
            Self::Network => sys::unshare(libc::CLONE_NEWNET),
            Self::Ipc => sys::unshare(libc::CLONE_NEWIPC),
            Self::Mount => {
                private_mounts()?;
                sys::mount(Some(c"tmpfs"), c"/tmp", libc::MS_NOSUID | libc::MS_NODEV)
            }
            Self::Pid => {
                private_mounts()?;
                sys::unshare(libc::CLONE_NEWPID)?;
                // Only a child is within, and a `/proc` of its own is what the namespace is for.
                let mounted = sys::in_child(|| match sys::mount(Some(c"proc"), c"/proc", 0) {
                    Ok(()) => 0,
                    Err(errno) => u8::try_from(errno as i32).unwrap_or(u8::MAX),
                });
                match mounted {
                    Ok(0) => Ok(()),
                    Ok(errno) => Err(Errno::from_raw(errno.into())),
                    Err(_) => Err(Errno::ECHILD),
                }
            }
        }
    }
}

fn private_mounts() -> Result<(), Errno> {
    sys::unshare(libc::CLONE_NEWNS)?;
    sys::mount(None, c"/", libc::MS_REC | libc::MS_PRIVATE)
}

fn write(path: &str, text: &[u8]) -> Result<(), Errno> {
    let written = File::options().write(true).open(path);
    let written = written.and_then(|mut file| file.write_all(text));
    written.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))
}
