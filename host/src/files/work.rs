//! What operations on files cost the host, and whether anyone still waits for them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The account of whoever has operations run, which may be many one after the other.
#[derive(Debug, Default)]
pub struct Work {
    /// CPU time in nanoseconds.
    cpu: AtomicU64,
    stopped: AtomicBool,
}

impl Work {
    /// Returns the CPU time of all operations that have ended.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }

    /// Asks operations to end early: nobody waits for them any more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Runs an operation on this thread, and adds its CPU time.
    pub(crate) fn charge<T>(&self, run: impl FnOnce() -> T) -> T {
        let began = thread_time();
        let result = run();
        let time = thread_time().saturating_sub(began).as_nanos();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        self.cpu.fetch_add(time, Ordering::Relaxed);
        result
    }
}

/// Returns the CPU time of this thread.
fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map(Duration::from)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_charged() {
        let work = Work::default();
        let spin = || {
            let began = thread_time();
            while thread_time() - began < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
            7
        };
        assert_eq!(work.charge(spin), 7);
        assert!(work.cpu() >= Duration::from_millis(2));
        assert!(!work.is_stopped());
        work.stop();
        assert!(work.is_stopped());
    }
}
