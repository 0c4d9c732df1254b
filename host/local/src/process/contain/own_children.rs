//! The children of this process, found without opening a new descriptor.
//!
//! A command of the same user can keep its supervisor from opening files (`prlimit`), and where `/proc` hides processes
//! (`hidepid`) it can hide itself. It cannot hide that it is a child of this process, or that it still runs.

use std::fs::File;
use std::io::{Read, Seek};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::proc;

/// Looks for children that ended, and leaves them as zombies.
const LOOK: WaitIdOptions = WaitIdOptions::EXITED
    .union(WaitIdOptions::NOHANG)
    .union(WaitIdOptions::NOWAIT);

/// The children of this process, which has one thread.
#[derive(Debug)]
pub(super) struct OwnChildren {
    pid: i32,
    /// `None` if the kernel does not list children.
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

    /// Returns all children, including zombies.
    pub(super) fn list(&self) -> Vec<i32> {
        let listed = self.list.as_ref().and_then(read);
        let listed = listed.as_deref().map(|text| {
            text.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect()
        });
        listed.unwrap_or_else(|| proc::children(self.pid))
    }

    /// Returns whether there are no children, not even zombies. Asks the kernel, because a list shows a moment that has passed.
    pub(super) fn are_gone(&self) -> bool {
        matches!(waitid(WaitId::All, LOOK), Err(rustix::io::Errno::CHILD))
    }

    /// Returns whether a child has not ended.
    pub(super) fn lives(&self, pid: i32) -> bool {
        Pid::from_raw(pid).is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), LOOK), Ok(None)))
    }
}

/// Reads the whole file once more.
fn read(mut file: &File) -> Option<String> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    Some(text)
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
