//! All processes of this machine at one moment, with what they use.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};

/// A process and what it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// The process id of the parent.
    pub parent: i32,
    /// The process group.
    pub group: i32,
    /// Whether it is more than a zombie.
    pub lives: bool,
    /// The CPU time of the process itself.
    pub cpu: Duration,
    /// The CPU time of its children that ended and that it waited for, with theirs.
    pub waited_cpu: Duration,
    /// Its resident memory in bytes, with the part that it shares with others.
    pub memory: u64,
}

/// All processes, as one pass over `/proc` found them. Processes that began or ended during the pass may be missing.
#[derive(Debug, Default)]
pub struct Table {
    processes: HashMap<i32, Process>,
    /// The children of each process.
    children: HashMap<i32, Vec<i32>>,
}

impl Table {
    /// Reads `/proc` once, and so blocks.
    pub fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let read = |pid: i32| {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            parse(pid, &String::from_utf8_lossy(&stat))
        };
        pids.filter_map(read).collect()
    }

    /// Returns a process by its id.
    pub fn get(&self, pid: i32) -> Option<&Process> {
        self.processes.get(&pid)
    }

    /// Returns all descendants of a process, without that process.
    pub fn below(&self, root: i32) -> Vec<&Process> {
        let (mut found, mut seen) = (Vec::new(), HashSet::from([root]));
        let mut pending = vec![root];
        while let Some(pid) = pending.pop() {
            for child in self.children.get(&pid).into_iter().flatten() {
                // Ids that were given anew during the pass can make a circle.
                if seen.insert(*child) {
                    pending.push(*child);
                    found.extend(self.get(*child));
                }
            }
        }
        found
    }

    /// Returns the living members of a process group.
    pub fn of_group(&self, group: i32) -> Vec<&Process> {
        let all = self.processes.values();
        all.filter(|one| one.group == group && one.lives).collect()
    }
}

impl FromIterator<Process> for Table {
    fn from_iter<I: IntoIterator<Item = Process>>(processes: I) -> Self {
        let mut table = Self::default();
        for one in processes {
            table.children.entry(one.parent).or_default().push(one.pid);
            table.processes.insert(one.pid, one);
        }
        table
    }
}

/// Reads a line of `/proc/PID/stat`. See `proc_pid_stat(5)`.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let status = super::parse(stat)?;
    let (_, after_name) = stat.rsplit_once(") ")?;
    let fields: Vec<_> = after_name.split_ascii_whitespace().collect();
    // The first of these fields is the third of the line.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let units = Units::get();
    let cpu = |user: usize| {
        let ticks = number(user)?.saturating_add(number(user + 1)?);
        Some(Duration::from_millis(
            ticks.saturating_mul(1000) / units.ticks,
        ))
    };
    Some(Process {
        pid,
        parent: status.parent,
        group: status.group,
        lives: status.lives,
        cpu: cpu(14)?,
        waited_cpu: cpu(16)?,
        memory: number(24)?.saturating_mul(units.page),
    })
}

/// The units of the numbers in `/proc`.
#[derive(Clone, Copy, Debug)]
struct Units {
    /// The ticks of CPU time in a second.
    ticks: u64,
    /// The bytes of a page of memory.
    page: u64,
}

impl Units {
    fn get() -> Self {
        static UNITS: OnceLock<Units> = OnceLock::new();
        let of = |variable, usual| {
            let value = sysconf(variable).ok().flatten();
            let value = value.and_then(|value| u64::try_from(value).ok());
            value.filter(|value| *value > 0).unwrap_or(usual)
        };
        *UNITS.get_or_init(|| Self {
            ticks: of(SysconfVar::CLK_TCK, 100),
            page: of(SysconfVar::PAGE_SIZE, 4096),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_after_any_name() {
        let line = "7 (a) b) S 42 9 7 0 -1 4194560 5 6 7 8 150 50 30 20 20 0 1 0 99 4096 3 18446744073709551615";
        let units = Units::get();
        let time = |ticks: u64| Duration::from_millis(ticks * 1000 / units.ticks);
        let expected = Process {
            pid: 7,
            parent: 42,
            group: 9,
            lives: true,
            cpu: time(200),
            waited_cpu: time(50),
            memory: 3 * units.page,
        };
        assert_eq!(parse(7, line), Some(expected));
        for broken in ["", "7 (a) S", "7 (a) S 42 9 7 0 -1 4194560 5 6 7 8 x 50"] {
            assert_eq!(parse(7, broken), None, "{broken}");
        }
    }

    #[test]
    fn descendants_are_found_and_circles_end() {
        let process = |pid, parent| Process {
            pid,
            parent,
            group: 1,
            lives: pid != 5,
            cpu: Duration::ZERO,
            waited_cpu: Duration::ZERO,
            memory: 0,
        };
        let pairs = [(2, 1), (3, 2), (4, 3), (5, 2), (6, 1), (8, 9), (9, 8)];
        let table: Table = pairs
            .map(|(pid, parent)| process(pid, parent))
            .into_iter()
            .collect();
        let below = |root| {
            let mut pids: Vec<_> = table.below(root).iter().map(|one| one.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(below(2), [3, 4, 5]);
        assert_eq!(below(1), [2, 3, 4, 5, 6]);
        assert_eq!(below(8), [9]);
        assert!(below(7).is_empty());
        assert_eq!(table.of_group(1).len(), 6);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let table = Table::read();
        let own = i32::try_from(std::process::id()).unwrap();
        let found = table.get(own).unwrap();
        assert!(found.lives && found.memory > 0);
        assert!(table.below(found.parent).iter().any(|one| one.pid == own));
    }
}
