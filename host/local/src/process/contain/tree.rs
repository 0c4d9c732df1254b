//! Everything that a process started, found through `/proc`, and signals to all of it.
//!
//! Below a subreaper nothing can hide: a process whose parent ended becomes a child of the subreaper. So what a command
//! started is what can be reached from its supervisor by going from parent to child, whatever session or group it made.

use std::collections::HashSet;
use std::fs;
use std::sync::OnceLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use super::own_children::OwnChildren;

/// How often what appeared meanwhile is looked for, before a signal counts as sent to all.
///
/// What forks faster than it can be stopped is met again by the next round of a kill.
const MOST_LOOKS: usize = 64;

/// A tree of processes below one that is not part of it.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    /// The process below which the tree is.
    pub(super) root: i32,
    /// Children of the root that are no part of the tree, with all below them.
    except: Option<&'a HashSet<i32>>,
    /// Where the root is this process: what tells of its children even if nothing can be opened.
    own: Option<&'a OwnChildren>,
}

impl<'a> Tree<'a> {
    /// Returns everything below a process.
    pub(super) fn below(root: i32) -> Self {
        Self {
            root,
            except: None,
            own: None,
        }
    }

    /// Returns everything below this process, which has one thread and reaps all of its children itself.
    pub(super) fn below_own(own: &'a OwnChildren) -> Self {
        Self {
            root: own.pid(),
            except: None,
            own: Some(own),
        }
    }

    /// Leaves out children of the root, with all below them.
    pub(super) fn without(self, except: &'a HashSet<i32>) -> Self {
        Self {
            except: Some(except),
            ..self
        }
    }

    /// Returns all that is in the tree, parents before their children, without those that ended and wait to be reaped.
    pub(super) fn members(&self) -> Vec<i32> {
        self.some_members(usize::MAX)
    }

    /// Returns at most so many of its members.
    pub(super) fn some_members(&self, most: usize) -> Vec<i32> {
        self.look(&self.direct(), most)
    }

    /// Returns the children of the root that are in the tree.
    fn direct(&self) -> HashSet<i32> {
        let mut direct = match self.own {
            Some(own) => own.list(),
            None => children(self.root),
        };
        direct.retain(|pid| self.except.is_none_or(|except| !except.contains(pid)));
        HashSet::from_iter(direct)
    }

    fn look(&self, direct: &HashSet<i32>, most: usize) -> Vec<i32> {
        let mut members = Vec::new();
        let mut seen = HashSet::new();
        let mut pending: Vec<i32> = direct.iter().copied().collect();
        while members.len() < most
            && let Some(pid) = pending.pop()
        {
            if seen.insert(pid) {
                pending.extend(children(pid));
                let lives = match self.own {
                    Some(own) if direct.contains(&pid) => own.lives(pid),
                    _ => is_alive(pid),
                };
                if lives {
                    members.push(pid);
                }
            }
        }
        members
    }

    /// Sends a signal to each member once, all at one moment: the tree is stopped first and goes on afterwards. So nothing is
    /// missed that is just being started, and nothing is hit that a handler of the signal starts.
    ///
    /// What somebody had stopped before stays stopped, but for SIGTERM: it would not see that before somebody lets it go on.
    pub(super) fn signal(&self, signal: Signal) {
        let stopped = self.stop();
        for pid in &stopped.all {
            self.send(*pid, signal, &stopped);
        }
        for pid in &stopped.all {
            if signal == Signal::SIGTERM || !stopped.before.contains(pid) {
                self.send(*pid, Signal::SIGCONT, &stopped);
            }
        }
    }

    /// Stops the tree, so that it cannot grow, and kills it. One round: what slipped through is met by the next.
    pub(super) fn kill(&self) {
        let stopped = self.stop();
        for pid in &stopped.all {
            self.send(*pid, Signal::SIGKILL, &stopped);
        }
    }

    /// Stops all members, also those that appear while this runs.
    fn stop(&self) -> Stopped {
        let mut stopped = Stopped::default();
        for _ in 0..MOST_LOOKS {
            stopped.direct = self.direct();
            let members = self.look(&stopped.direct, usize::MAX).into_iter();
            let new: Vec<i32> = members.filter(|pid| stopped.all.insert(*pid)).collect();
            if new.is_empty() {
                break;
            }
            for pid in new {
                if status(pid).is_some_and(|status| status.stopped) {
                    stopped.before.insert(pid);
                }
                self.send(pid, Signal::SIGSTOP, &stopped);
            }
        }
        stopped
    }

    /// Signals one process through a descriptor that names it for good, and only if it still is in the tree: its number may
    /// have been handed out again. The number of an own child is its own until this process reaps it.
    fn send(&self, pid: i32, signal: Signal, stopped: &Stopped) {
        if self.own.is_some() && stopped.direct.contains(&pid) {
            _ = kill(Pid::from_raw(pid), signal);
            return;
        }
        let raw = rustix::process::Signal::from_named_raw(signal as i32);
        let (Some(raw), Some(target)) = (raw, rustix::process::Pid::from_raw(pid)) else {
            return;
        };
        let Ok(pidfd) = pidfd_open(target, PidfdFlags::empty()) else {
            return;
        };
        let parent = status(pid).map(|status| status.parent);
        if parent.is_some_and(|parent| parent == self.root || stopped.all.contains(&parent)) {
            // One that may not be signalled, such as a setuid program, does not shield the others.
            _ = pidfd_send_signal(&pidfd, raw);
        }
    }
}

/// What was stopped.
#[derive(Debug, Default)]
struct Stopped {
    all: HashSet<i32>,
    /// Those that were children of the root at the last look.
    direct: HashSet<i32>,
    /// Those that somebody else had stopped.
    before: HashSet<i32>,
}

/// What `/proc` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Whether it is more than a zombie.
    pub(super) lives: bool,
    /// Whether a signal stopped it.
    pub(super) stopped: bool,
}

/// Returns what a process is, or `None` if there is none of this number.
pub(super) fn status(pid: i32) -> Option<Status> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns whether there is a process of this number, and more of it than a zombie.
pub fn is_alive(pid: i32) -> bool {
    status(pid).is_some_and(|status| status.lives)
}

/// The second field is a name that may contain anything, so fields are counted from its closing parenthesis on.
fn parse(stat: &str) -> Option<Status> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut fields = after_name.split(' ');
    let state = fields.next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let is_dead = matches!(state, "Z" | "X" | "x");
    // The first thread of a process can end before the others.
    let others = is_dead && fields.nth(14)?.parse::<u32>().ok()? > 1;
    Some(Status {
        parent,
        group,
        lives: !is_dead || others,
        stopped: matches!(state, "T" | "t"),
    })
}

/// Returns the children of a process, also those that it has not reaped.
pub(super) fn children(pid: i32) -> Vec<i32> {
    if !lists_children() {
        return children_by_search(pid);
    }
    // Each thread has children of its own.
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<i32>>()
        })
        .collect()
}

/// Returns whether the kernel lists the children of a process. Most do; it is an option of the build.
pub fn lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| {
        let pid = std::process::id();
        fs::exists(format!("/proc/{pid}/task/{pid}/children")).unwrap_or(false)
    })
}

fn children_by_search(parent: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| status(*pid).is_some_and(|status| status.parent == parent))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_behind_any_name() {
        let living = |lives, stopped| {
            Some(Status {
                parent: 42,
                group: 7,
                lives,
                stopped,
            })
        };
        assert_eq!(parse("7 (sh) S 42 7 1 0 -1"), living(true, false));
        assert_eq!(parse("7 (a) b) S 9 (x) R 42 7 1"), living(true, false));
        assert_eq!(parse("7 (sh) T 42 7 1"), living(true, true));
        let zombie = |threads| {
            let stat =
                format!("7 (py) Z 42 7 7 0 -1 4227084 1205 0 0 0 3 0 0 0 25 5 {threads} 0 15461");
            parse(&stat)
        };
        assert_eq!(zombie(1), living(false, false));
        assert_eq!(zombie(2), living(true, false));
        for broken in ["7 (sh", "", "7 (sh) S", "7 (sh) Z 42 7 7"] {
            assert_eq!(parse(broken), None);
        }
    }

    #[test]
    fn both_ways_find_the_same_children() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let parent = status(pid).unwrap().parent;
        assert!(children_by_search(parent).contains(&pid));
        assert_eq!(
            children(parent).contains(&pid),
            status(pid).unwrap().parent == parent
        );
    }
}
