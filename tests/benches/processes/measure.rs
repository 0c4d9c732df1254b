//! What a benchmark of processes looks at: times, memory, descriptors, children.

use std::time::Duration;

pub(crate) fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    let last = times.len().saturating_sub(1);
    times.get(last * percent / 100).copied().unwrap_or_default()
}

/// A value of `/proc/…/status` or `smaps_rollup` in KiB; 0 if it is not told.
pub(crate) fn kib(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

pub(crate) fn resident() -> u64 {
    kib("/proc/self/status", "VmRSS")
}

/// The most memory that was resident since [`forget_peak`].
pub(crate) fn peak() -> u64 {
    kib("/proc/self/status", "VmHWM")
}

pub(crate) fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
}

pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// The children of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}
