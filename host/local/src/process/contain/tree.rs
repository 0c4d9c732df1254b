//! Process trees: all descendants of a process, found through `/proc`, and signals to all of them.
//!
//! No process below a subreaper can hide: a process whose parent ended becomes a child of the subreaper. So the processes of a
//! command are those that are reached from its supervisor by going from parent to child, in whatever session or group.

use std::collections::HashSet;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::own_children::OwnChildren;
use super::proc;

/// The most rounds of a search for new processes before a signal is sent.
///
/// If a command forks faster than it can be stopped, the next round of a kill reaches the rest.
const MOST_LOOKS: usize = 64;

/// The pause before the next round of a kill, in milliseconds: first and longest.
pub(super) const ROUND_MS: (u16, u16) = (2, 500);

/// The descendants of a process, without that process.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    /// The process whose descendants are the members.
    pub(super) root: i32,
    /// Children of the root that are left out, with all their descendants.
    except: Option<&'a HashSet<i32>>,
    /// Set if the root is this process. It lists the children even if no file can be opened.
    own: Option<&'a OwnChildren>,
}

impl<'a> Tree<'a> {
    /// Makes the tree of all descendants of a process.
    pub(super) fn below(root: i32) -> Self {
        Self {
            root,
            except: None,
            own: None,
        }
    }

    /// Makes the tree of all descendants of this process, which must have one thread and reap all its children itself.
    pub(super) fn below_own(own: &'a OwnChildren) -> Self {
        Self {
            root: own.pid(),
            except: None,
            own: Some(own),
        }
    }

    /// Leaves out these children of the root, with all their descendants.
    pub(super) fn without(self, except: &'a HashSet<i32>) -> Self {
        Self {
            except: Some(except),
            ..self
        }
    }

    /// Returns all processes of the tree, parents before their children, without zombies.
    pub(super) fn members(&self) -> Vec<i32> {
        self.some_members(usize::MAX)
    }

    /// Returns at most `most` members.
    pub(super) fn some_members(&self, most: usize) -> Vec<i32> {
        self.look(&self.direct(), most)
    }

    /// Returns the children of the root that are in the tree.
    fn direct(&self) -> HashSet<i32> {
        let mut direct = match self.own {
            Some(own) => own.list(),
            None => proc::children(self.root),
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
                pending.extend(proc::children(pid));
                let lives = match self.own {
                    Some(own) if direct.contains(&pid) => own.lives(pid),
                    _ => proc::is_alive(pid),
                };
                if lives {
                    members.push(pid);
                }
            }
        }
        members
    }

    /// Sends a signal to each member once, in place of a `killpg`, which misses what left the process group. All get it at one moment: the tree is stopped first and goes on afterwards. So the signal
    /// reaches processes that are just being started, and none that a handler of the signal starts.
    ///
    /// Processes that were stopped before stay stopped, except for SIGTERM: a stopped process does not handle the signal.
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

    /// Stops the tree, so that it cannot grow, and kills it. This is one round of a kill: the next one reaches processes that
    /// slipped through.
    pub(super) fn kill(&self) {
        let stopped = self.stop();
        for pid in &stopped.all {
            self.send(*pid, Signal::SIGKILL, &stopped);
        }
    }

    /// Stops all members, including those that appear while this runs.
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
                if proc::status(pid).is_some_and(|status| status.stopped) {
                    stopped.before.insert(pid);
                }
                self.send(pid, Signal::SIGSTOP, &stopped);
            }
        }
        stopped
    }

    /// Signals one process, and only if it still is in the tree. The id of an own child is its own until this process reaps it.
    fn send(&self, pid: i32, signal: Signal, stopped: &Stopped) {
        if self.own.is_some() && stopped.direct.contains(&pid) {
            _ = kill(Pid::from_raw(pid), signal);
            return;
        }
        // A process that may not be signalled, such as a setuid program, does not shield the others.
        _ = proc::signal(pid, signal, |status| {
            status.parent == self.root || stopped.all.contains(&status.parent)
        });
    }
}

/// The processes that were stopped.
#[derive(Debug, Default)]
struct Stopped {
    all: HashSet<i32>,
    /// The processes that were children of the root at the last look.
    direct: HashSet<i32>,
    /// The processes that had been stopped before.
    before: HashSet<i32>,
}
