//! The CPU time of a thread, by which guests and operations on files are measured.

use nix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this thread, in nanoseconds.
pub fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(std::time::Duration::from);
    u64::try_from(time.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}
