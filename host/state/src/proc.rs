//! Processes of this machine, as `/proc` shows them.

mod table;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

pub use table::{Process, Table};

/// The status of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The process id of the parent.
    pub parent: i32,
    /// The process group.
    pub group: i32,
    /// Whether it is more than a zombie.
    pub lives: bool,
    /// Whether a signal stopped it.
    pub stopped: bool,
}

/// Returns the status of a process, or `None` if no process has this id.
pub fn status(pid: i32) -> Option<Status> {
    parse(&stat(pid)?)
}

/// Returns the name of a process, which the process can change, and its status at the same moment.
pub fn named_status(pid: i32) -> Option<(String, Status)> {
    let stat = stat(pid)?;
    let (before, _) = stat.rsplit_once(") ")?;
    let (_, name) = before.split_once(" (")?;
    Some((name.to_owned(), parse(&stat)?))
}

fn stat(pid: i32) -> Option<String> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // A process can give itself a name that is not UTF-8.
    Some(String::from_utf8_lossy(&stat).into_owned())
}

/// Returns whether a process has this id and is more than a zombie.
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

/// Returns the children of a process, including zombies.
pub fn children(pid: i32) -> Vec<i32> {
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

/// Returns how many processes and threads a user has. The owner of a directory in `/proc` is root if the process is not dumpable, as the
/// processes of Toolhost are, so it does not tell.
pub fn tasks_of(user: u32) -> u64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok())
    });
    processes
        .filter_map(|process| tasks_in(&process.path(), user))
        .sum()
}

/// Returns how many threads a process has, by its directory; `None` if it is that of another user.
fn tasks_in(process: &Path, user: u32) -> Option<u64> {
    let status = fs::read(process.join("status")).ok()?;
    // A process can give itself a name that is not UTF-8.
    let status = String::from_utf8_lossy(&status);
    let number = |name| {
        let mut lines = status.lines();
        let rest = lines.find_map(|line| line.strip_prefix(name))?;
        rest.split_ascii_whitespace().next()?.parse::<u32>().ok()
    };
    (number("Uid:")? == user).then(|| number("Threads:").unwrap_or(1).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_after_any_name() {
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
    fn a_process_is_found_by_any_name() {
        let named = std::thread::spawn(|| {
            let pid = nix::unistd::gettid().as_raw();
            nix::sys::prctl::set_name(c"\xff) (").unwrap();
            (status(pid), is_alive(pid), named_status(pid))
        });
        let (status, lives, named) = named.join().unwrap();
        assert!(status.is_some() && lives);
        let (name, named) = named.unwrap();
        assert_eq!((name.as_str(), Some(named)), ("\u{fffd}) (", status));
    }

    #[test]
    fn processes_that_are_not_dumpable_are_counted() {
        nix::sys::prctl::set_dumpable(false).unwrap();
        let user = nix::unistd::getuid().as_raw();
        let own = tasks_in(Path::new("/proc/self"), user);
        nix::sys::prctl::set_dumpable(true).unwrap();
        assert!(own.unwrap() >= 1);
        assert_eq!(tasks_in(Path::new("/proc/self"), user + 1), None);
        assert!(tasks_of(user) >= 1);
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
