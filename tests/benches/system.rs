//! The kernel's numbers of processes: memory, context switches, descriptors, children.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A number of `/proc/…/status` or `smaps_rollup`, by its name with the colon.
fn number(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The resident memory of this process in KiB.
pub(crate) fn resident() -> u64 {
    number("/proc/self/status", "VmRSS:").expect("the status has it")
}

/// The most memory in KiB that was resident since [`forget_peak`].
pub(crate) fn peak() -> u64 {
    number("/proc/self/status", "VmHWM:").expect("the status has it")
}

/// Begins a new peak, where this user may.
pub(crate) fn forget_peak() {
    _ = fs::write("/proc/self/clear_refs", "5");
}

/// The proportional share of memory of a process in KiB; 0 if the process has ended.
pub(crate) fn pss(pid: u32) -> u64 {
    number(&format!("/proc/{pid}/smaps_rollup"), "Pss:").unwrap_or(0)
}

pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// How often each thread of a process has waited: its voluntary context switches.
pub(crate) fn switches(pid: u32) -> HashMap<PathBuf, u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let of_one = |thread: &Path| {
        let text = fs::read_to_string(thread.join("status")).ok()?;
        let mut lines = text.lines();
        let number = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        number.trim().parse::<u64>().ok()
    };
    threads
        .filter_map(|thread| Some((thread.path(), of_one(&thread.path())?)))
        .collect()
}

/// How often threads have waited since then. Those that have ended meanwhile are not counted.
pub(crate) fn switches_since(before: &HashMap<PathBuf, u64>, after: &HashMap<PathBuf, u64>) -> u64 {
    let of_one = |(thread, count): (&PathBuf, &u64)| count - before.get(thread).unwrap_or(&0);
    after.iter().map(of_one).sum()
}

/// Returns how long the threads of a process have run.
pub(crate) fn processor_time(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let of_one = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let nanoseconds = text.split(' ').next()?.parse().ok()?;
        Some(Duration::from_nanos(nanoseconds))
    };
    let threads = threads.into_iter().flatten().flatten();
    threads.filter_map(of_one).sum()
}

/// A process and all below it.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let children = children.split_whitespace();
        let children = children.filter_map(|child| child.parse().ok());
        all.extend(children.flat_map(family));
    }
    all
}

/// Two loops at nice 10, which compute until they are dropped.
pub(crate) struct Busy([Child; 2]);

impl Busy {
    pub(crate) fn start() -> Self {
        Self([(); 2].map(|()| {
            let mut command = Command::new("nice");
            command.args(["-n", "10", "sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null());
            command.spawn().expect("there is nice")
        }))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            _ = child.kill();
            _ = child.wait();
        }
    }
}
