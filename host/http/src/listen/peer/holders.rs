//! The processes that have a socket open.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use toolhost_state::proc;

/// The most descriptors that a search looks at.
const MOST_DESCRIPTORS: usize = 50_000;

/// The most looks at a tree of processes. A further look finds the processes that were started during the last one.
const MOST_LOOKS: usize = 8;

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This process has the socket open.
    Held(i32),
    None,
    /// Some descriptors could not be looked at: the process does not show them, they are on their way to another process, or there
    /// are too many.
    Unclear,
}

/// A search for the processes that have a socket open.
pub(super) struct Search {
    /// The target of the links of the socket in `/proc/PID/fd`.
    link: String,
    left: usize,
    is_unclear: bool,
    /// The processes that were looked at.
    seen: HashSet<i32>,
}

impl Search {
    pub(super) fn new(inode: u32) -> Self {
        Self {
            link: format!("socket:[{inode}]"),
            left: MOST_DESCRIPTORS,
            is_unclear: false,
            seen: HashSet::new(),
        }
    }

    /// Leaves a process out.
    #[cfg(test)]
    pub(super) fn pass_over(&mut self, pid: i32) {
        self.seen.insert(pid);
    }

    /// Searches these processes and all their descendants.
    pub(super) fn below(&mut self, roots: &[i32]) -> Found {
        for _ in 0..MOST_LOOKS {
            let before = self.seen.len();
            let mut pending = roots.to_vec();
            while let Some(pid) = pending.pop() {
                pending.extend(proc::children(pid));
                if self.seen.insert(pid) && self.holds(pid) {
                    return Found::Held(pid);
                }
            }
            if self.seen.len() == before {
                break;
            }
        }
        self.found_none()
    }

    /// Searches all other processes that this process can see, but for the commands of other hosts, with as many descriptors as before: a
    /// command that has many must not keep the host from finding its clients.
    pub(super) fn elsewhere(&mut self) -> Found {
        self.left = MOST_DESCRIPTORS;
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let pids: Vec<i32> = pids.collect();
        let is_above = |pid: i32| {
            proc::name(pid).is_some_and(|name| super::ABOVE_COMMANDS.contains(&name.as_str()))
        };
        let mut commands: Vec<_> = pids.iter().copied().filter(|pid| is_above(*pid)).collect();
        while let Some(pid) = commands.pop() {
            if self.seen.insert(pid) {
                commands.extend(proc::children(pid));
            }
        }
        let mut pids = pids.into_iter();
        match pids.find(|pid| !self.seen.contains(pid) && self.holds(*pid)) {
            Some(pid) => Found::Held(pid),
            None => self.found_none(),
        }
    }

    fn found_none(&self) -> Found {
        if self.is_unclear {
            Found::Unclear
        } else {
            Found::None
        }
    }

    /// Returns whether a thread of the process has the socket open. Each thread can have descriptors of its own, and those of the
    /// first one are not shown after its end.
    fn holds(&mut self, pid: i32) -> bool {
        let threads = self.entries(Path::new(&format!("/proc/{pid}/task")));
        threads.iter().any(|thread| self.is_open_in(thread))
    }

    fn is_open_in(&mut self, thread: &Path) -> bool {
        self.entries(&thread.join("fd")).iter().any(|descriptor| {
            let Ok(link) = fs::read_link(descriptor) else {
                return false;
            };
            let link = link.as_os_str().as_encoded_bytes();
            if link.starts_with(b"socket:") {
                let name = descriptor.file_name().unwrap_or_default();
                self.is_unclear |= has_descriptors(&thread.join("fdinfo").join(name));
            }
            link == self.link.as_bytes()
        })
    }

    fn entries(&mut self, directory: &Path) -> Vec<std::path::PathBuf> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()),
            Err(error) => {
                self.is_unclear |= !is_gone(&error);
                return Vec::new();
            }
        };
        let mut entries: Vec<_> = entries.take(self.left + 1).collect();
        self.is_unclear |= entries.len() > self.left;
        entries.truncate(self.left);
        self.left -= entries.len();
        entries
    }
}

/// Returns whether the process has ended.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(nix::libc::ESRCH)
}

/// Returns whether messages with descriptors wait at a socket.
fn has_descriptors(info: &Path) -> bool {
    let info = fs::read_to_string(info).unwrap_or_default();
    let waiting = info.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    waiting.is_some_and(|count| count.trim() != "0")
}
