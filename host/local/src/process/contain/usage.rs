//! The CPU time, the memory and the number of the processes of commands.
//!
//! A cgroup knows them. Without one, or without its accounts of memory, they are the sums over the processes of a command as one pass
//! over `/proc` finds them. A process that ends during the pass is left out, and its CPU time counts again once its parent has
//! waited for it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use toolhost_state::proc::Table;

use super::Contained;
use super::group::Group;
use super::supervised::Supervised;
use crate::process::Usage;

/// One look at the processes of the system, which all questions share. It is taken at the first question that needs it.
#[derive(Debug, Default)]
pub(in crate::process) struct Look(Option<Table>);

impl Look {
    fn table(&mut self) -> &Table {
        self.0.get_or_insert_with(Table::read)
    }
}

impl Contained {
    /// Returns the use of the live processes of a command. Reads `/proc`, and so blocks.
    pub(in crate::process) fn usage(&self, look: &mut Look) -> Option<Usage> {
        match self {
            Self::Group(group) => Some(of_group(group, look.table())),
            Self::Supervised(supervised) => of_supervised(supervised, look),
            Self::Past => None,
        }
    }
}

/// Returns the use of the members of a group. It lacks the CPU time of those that ended and were reaped by a process outside.
fn of_group(group: &Group, table: &Table) -> Usage {
    let leader = group.number();
    let members = table.of_group(leader);
    let is_other = group.is_reaped() && members.iter().any(|one| one.pid == leader);
    match is_other {
        true => Usage::default(),
        false => sum(members.into_iter()),
    }
}

/// Returns the use of the processes below a supervisor, without the supervisor.
fn of_supervised(supervised: &Supervised, look: &mut Look) -> Option<Usage> {
    let accounts = supervised.with_leaf(|leaf| Accounts::read(leaf.path()));
    if let Some(Accounts {
        cpu,
        memory: Some(memory),
        processes,
    }) = accounts.flatten()
    {
        return Some(Usage {
            cpu,
            memory,
            processes,
        });
    }
    let supervisor = supervised.supervisor()?;
    let table = look.table();
    let mut usage = sum(table.below(supervisor).into_iter());
    // The supervisor waits for the processes whose parents have ended, and did so for its earlier commands.
    let waited = table.get(supervisor)?.waited_cpu;
    usage.cpu += waited.saturating_sub(supervised.earlier_cpu());
    Some(usage)
}

fn sum<'a>(members: impl Iterator<Item = &'a toolhost_state::proc::Process>) -> Usage {
    let mut usage = Usage::default();
    for one in members {
        usage.cpu += one.cpu + one.waited_cpu;
        usage.memory += one.memory;
        usage.processes += u64::from(one.lives);
    }
    usage
}

/// The accounts of a cgroup.
#[derive(Debug, PartialEq, Eq)]
struct Accounts {
    cpu: Duration,
    /// `None` without the controller of memory.
    memory: Option<u64>,
    processes: u64,
}

impl Accounts {
    fn read(cgroup: &Path) -> Option<Self> {
        let text = |name: &str| fs::read_to_string(cgroup.join(name)).ok();
        let stat = text("cpu.stat")?;
        let cpu = stat
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "))?;
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        Some(Self {
            cpu: Duration::from_micros(cpu.parse().ok()?),
            memory: number("memory.current"),
            processes: match number("pids.current") {
                Some(count) => count,
                None => text("cgroup.procs")?.lines().count() as u64,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accounts_of_a_cgroup_are_read_as_far_as_they_are_there() {
        let cgroup = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(cgroup.path().join(name), text).unwrap();
        assert_eq!(Accounts::read(cgroup.path()), None);
        write("cpu.stat", "usage_usec 1500000\nuser_usec 1000000\n");
        write("cgroup.procs", "7\n8\n");
        let without = Accounts {
            cpu: Duration::from_millis(1500),
            memory: None,
            processes: 2,
        };
        assert_eq!(Accounts::read(cgroup.path()), Some(without));
        write("memory.current", "4096\n");
        write("pids.current", "5\n");
        let whole = Accounts {
            cpu: Duration::from_millis(1500),
            memory: Some(4096),
            processes: 5,
        };
        assert_eq!(Accounts::read(cgroup.path()), Some(whole));
    }
}
