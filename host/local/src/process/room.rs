//! Room on this machine for more chats and commands: how many descriptors and processes are used, and how many the host keeps for itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::unistd::{geteuid, getuid};
use toolhost_state::proc::tasks_of;

use super::contain::{limiting_processes, reserve};

/// How many idle chats give up their namespaces together at least, so that few starts wait for that.
pub(super) const BATCH: usize = 16;

/// The descriptors that the host has open for an idle chat: two sockets and a descriptor of its spawner, its shared memory, and the rules
/// of its sandbox.
const DESCRIPTORS_OF_CHAT: u64 = 5;

/// The use of a resource that every chat with namespaces takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The resource, in the plural.
    pub what: &'static str,
    /// The setting of the limit.
    pub setting: String,
    /// How much is used.
    pub used: u64,
    /// The limit.
    pub limit: u64,
    /// How much an idle chat takes.
    each: u64,
    /// Up to which use idle chats may keep it.
    for_chats: u64,
    /// Up to which use commands may start.
    for_commands: u64,
}

/// The levels of all resources that have a limit.
#[derive(Clone, Debug)]
pub struct Room(Vec<Level>);

impl Level {
    fn descriptors() -> Option<Self> {
        let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
        Some(Self {
            what: "descriptors",
            setting: "`ulimit -n`".to_owned(),
            used: open_descriptors()?,
            limit,
            each: DESCRIPTORS_OF_CHAT,
            for_chats: limit - limit / 4,
            for_commands: limit - reserve(limit) / 2,
        })
    }

    /// Commands need several processes each, so half of them stay free.
    fn processes(setting: String, used: u64, limit: u64) -> Self {
        Self {
            what: "processes",
            setting,
            used,
            limit,
            each: 1,
            for_chats: limit / 2,
            for_commands: limit - reserve(limit) / 2,
        }
    }

    fn of_cgroup(directory: &Path) -> Option<Self> {
        let number = |name| {
            let text = fs::read_to_string(directory.join(name)).ok()?;
            text.trim().parse().ok()
        };
        let setting = format!("pids.max of {}", directory.display());
        Some(Self::processes(
            setting,
            number("pids.current")?,
            number("pids.max")?,
        ))
    }

    /// Returns the level of the processes of this user; `None` if they have no limit. If `at_pressure`, also if even all processes of the
    /// machine leave enough: counting those of a user takes long.
    fn of_user(at_pressure: bool) -> Option<Self> {
        let (limit, _) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
        if limit == RLIM_INFINITY || is_exempt() {
            return None;
        }
        let level = |used| Self {
            // The kernel keeps commands from the rest, and counts only the processes of this user namespace.
            for_commands: u64::MAX,
            ..Self::processes("`ulimit -u`".to_owned(), used, limit)
        };
        let all = level(tasks_of_machine().unwrap_or(u64::MAX));
        if at_pressure && all.used <= all.for_chats {
            return None;
        }
        Some(level(tasks_of(getuid().as_raw())))
    }

    /// Returns how many idle chats have to go.
    fn excess(&self) -> u64 {
        self.used.saturating_sub(self.for_chats).div_ceil(self.each)
    }

    /// Returns whether only the part is left that the host keeps for connections, its store and files.
    fn is_short(&self) -> bool {
        self.used > self.for_commands
    }

    /// Returns how many more idle chats fit.
    fn chats(&self) -> u64 {
        self.for_chats.saturating_sub(self.used) / self.each
    }
}

impl Room {
    /// Reads all levels.
    pub fn read() -> Self {
        Self::of(Level::of_user(false))
    }

    /// Reads the levels that may be too high.
    pub(super) fn at_pressure() -> Self {
        Self::of(Level::of_user(true))
    }

    fn of(user: Option<Level>) -> Self {
        let all = Level::descriptors().into_iter().chain(user);
        Self(all.chain(levels_of_cgroups()).collect())
    }

    /// Returns how many more chats can keep their namespaces while nothing runs in them, and the level that limits them; `None` if nothing
    /// does.
    pub fn chats(&self) -> Option<(u64, &Level)> {
        let chats = self.0.iter().map(|level| (level.chats(), level));
        chats.min_by_key(|(chats, _)| *chats)
    }

    /// Returns how many idle chats have to go, so that commands have enough.
    pub(super) fn excess(&self) -> usize {
        let excess = self.0.iter().map(Level::excess).max();
        excess.map_or(0, |excess| usize::try_from(excess).unwrap_or(usize::MAX))
    }

    /// Returns the level of which only the reserve of the host is left.
    pub(super) fn short(&self) -> Option<&Level> {
        self.0.iter().find(|level| level.is_short())
    }
}

fn levels_of_cgroups() -> impl Iterator<Item = Level> {
    static CGROUPS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let cgroups = CGROUPS.get_or_init(limiting_processes);
    cgroups.iter().filter_map(|path| Level::of_cgroup(path))
}

/// Returns how many processes one chat may have, so that the others and the host keep some: at most half of what the cgroup of this host
/// may have. The kernel would let it have all of them.
pub(super) fn most_processes(wanted: u64) -> u64 {
    share(wanted, levels_of_cgroups())
}

fn share(wanted: u64, levels: impl Iterator<Item = Level>) -> u64 {
    levels.map(|level| level.limit / 2).fold(wanted, u64::min)
}

/// Returns the level of descriptors if only the reserve of the host is left.
pub(super) fn short_of_descriptors() -> Option<Level> {
    Level::descriptors().filter(Level::is_short)
}

/// Returns how many descriptors this process has open.
fn open_descriptors() -> Option<u64> {
    const OWN: &str = "/proc/self/fd";
    // From Linux 6.2 on, the size of the directory is their number.
    match fs::metadata(OWN).ok()?.len() {
        0 => Some(fs::read_dir(OWN).ok()?.count() as u64),
        count => Some(count),
    }
}

/// Returns whether the kernel does not limit the processes of this user: it exempts root, but not the root of a user namespace.
fn is_exempt() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_whole = map.split_ascii_whitespace().eq(["0", "0", "4294967295"]);
    geteuid().is_root() && is_whole
}

/// Returns how many processes and threads there are, of all users.
fn tasks_of_machine() -> Option<u64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    let tasks = load.split(' ').nth(3)?.split_once('/')?.1;
    tasks.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_chats_go_before_the_reserve_is_touched() {
        let level = |used| Level {
            used,
            ..Level::processes(String::new(), 0, 256)
        };
        assert_eq!((level(128).excess(), level(129).excess()), (0, 1));
        assert_eq!((level(28).chats(), level(200).chats()), (100, 0));
        assert!(!level(224).is_short() && level(225).is_short());
        let room = Room(vec![level(100), level(150)]);
        assert_eq!(room.excess(), 22);
        assert_eq!(
            room.chats().map(|(chats, level)| (chats, level.used)),
            Some((0, 150))
        );
    }

    #[test]
    fn one_chat_has_half_of_a_cgroup() {
        let cgroups = [400, 300].map(|most| Level::processes(String::new(), 0, most));
        assert_eq!(share(1024, cgroups.clone().into_iter()), 150);
        assert_eq!(share(100, cgroups.into_iter()), 100);
    }

    #[test]
    fn the_own_descriptors_and_tasks_are_counted() {
        let counted = open_descriptors().unwrap();
        let _more = [(); 8].map(|()| fs::File::open("/dev/null").unwrap());
        // Other tests of this process open and close some meanwhile.
        assert!(counted >= 3);
        assert!(tasks_of_machine().unwrap() >= 1);
    }
}
