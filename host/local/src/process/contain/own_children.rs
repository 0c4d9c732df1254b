//! The children of this process, as far as that takes no new descriptor.
//!
//! A command of the same user can take all descriptors from its supervisor (`prlimit`), and where `/proc` hides processes
//! (`hidepid`) it can hide itself. That it is a child of this process, and whether it has ended, it cannot hide.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::tree;

/// The children of this process, which has one thread.
#[derive(Debug)]
pub(super) struct OwnChildren {
    pid: i32,
    /// `None` where the kernel does not list them.
    list: Option<File>,
}

impl OwnChildren {
    /// Opens the list of the children of this process. To be called anew after a fork.
    pub(super) fn open() -> Self {
        let pid = std::process::id().cast_signed();
        Self {
            pid,
            list: File::open(format!("/proc/self/task/{pid}/children")).ok(),
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns all children, also those that were not reaped.
    pub(super) fn list(&self) -> Vec<i32> {
        let listed = self.list.as_ref().and_then(read);
        let listed = listed.as_deref().map(|text| {
            text.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect()
        });
        listed.unwrap_or_else(|| tree::children(self.pid))
    }

    /// Returns whether there are none, not even some that wait to be reaped. Only the kernel knows for sure: a list is of a
    /// moment that has passed.
    pub(super) fn are_gone(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
    }

    /// Returns whether a child has not ended.
    pub(super) fn lives(&self, pid: i32) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Pid::from_raw(pid).is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }
}

/// Reads the whole file once more. Its offset stays where it is.
fn read(file: &File) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match file.read_at(&mut buffer, bytes.len() as u64).ok()? {
            0 => break,
            count => bytes.extend_from_slice(buffer.get(..count)?),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test needs a child, and this is not the host"
    )]
    fn lists_children_and_whether_they_live() {
        // The list is that of one thread.
        let own = OwnChildren {
            list: File::open("/proc/thread-self/children").ok(),
            ..OwnChildren::open()
        };
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let pid = child.id().cast_signed();
        assert!(own.list().contains(&pid) && own.lives(pid));
        child.kill().unwrap();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&child)), options).unwrap();
        assert!(own.list().contains(&pid) && !own.lives(pid));
        child.wait().unwrap();
        assert!(!own.list().contains(&pid) && !own.lives(pid));
    }
}
