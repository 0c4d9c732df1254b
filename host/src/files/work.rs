//! What operations on files cost the host, and whether anyone still waits for them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::Error;

/// The account of whoever has operations run, which may be many one after the other.
#[derive(Debug, Default)]
pub struct Work {
    /// CPU time in nanoseconds, without the operation under way.
    cpu: AtomicU64,
    /// The CPU time of its thread when the operation under way began, in nanoseconds.
    began: AtomicU64,
    /// The most CPU time in nanoseconds; 0: any.
    limit: u64,
    stopped: AtomicBool,
}

impl Work {
    /// Makes an account for so much CPU time. An operation that uses it up ends early.
    pub fn limited(limit: Duration) -> Self {
        Self {
            limit: nanoseconds(limit),
            ..Self::default()
        }
    }

    /// Adds CPU time that was used elsewhere on behalf of the same account.
    pub(crate) fn add(&self, time: Duration) {
        self.cpu.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// Returns the CPU time of all operations that have ended.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }

    /// Asks operations to end early: nobody waits for them any more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether the operation under way should end: nobody waits for it, or it used up what it had. Called on its
    /// thread.
    pub(crate) fn is_stopped(&self) -> bool {
        if self.stopped.load(Ordering::Relaxed) {
            return true;
        }
        let now = thread_time().saturating_sub(self.began.load(Ordering::Relaxed));
        let used = self.cpu.load(Ordering::Relaxed).saturating_add(now);
        self.limit > 0 && used > self.limit
    }

    /// Fails if the operation under way should end.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_stopped() {
            let text = "it took too long, or nobody waits for it any more";
            return Err(Error::Failed(text.into()));
        }
        Ok(())
    }

    /// Runs an operation on this thread, and adds its CPU time.
    pub(crate) fn charge<T>(&self, run: impl FnOnce() -> T) -> T {
        let began = thread_time();
        self.began.store(began, Ordering::Relaxed);
        let result = run();
        let time = thread_time().saturating_sub(began);
        self.cpu.fetch_add(time, Ordering::Relaxed);
        result
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the CPU time of this thread, in nanoseconds.
pub(crate) fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    nanoseconds(time.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_charged() {
        let work = Work::default();
        let spin = || {
            let began = thread_time();
            while thread_time() - began < 2_000_000 {
                std::hint::spin_loop();
            }
            7
        };
        assert_eq!(work.charge(spin), 7);
        assert!(work.cpu() >= Duration::from_millis(2));
        assert!(!work.is_stopped());
        work.stop();
        assert!(work.is_stopped());
        let work = Work::limited(Duration::from_millis(1));
        work.charge(|| while !work.is_stopped() {});
        assert!(work.cpu() >= Duration::from_millis(1));
        assert!(work.check().is_err());
    }
}
