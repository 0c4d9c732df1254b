//! The CPU time of an operation on files, and whether its caller still waits for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use toolhost_state::thread_time::thread_time;

use super::{CpuAccount, Error};

/// One operation, which runs on one thread.
#[derive(Debug, Default)]
pub struct Work {
    /// The CPU time of its thread when the operation began, in nanoseconds.
    began: AtomicU64,
    /// How much CPU time it may use; `None`: any amount.
    limit: Option<Duration>,
    stopped: AtomicBool,
}

impl Work {
    /// Makes an operation that may use what is left of an account.
    pub(super) fn of(account: &CpuAccount) -> Self {
        Self {
            limit: account.left(),
            ..Self::default()
        }
    }

    /// Asks the operation to end early: its caller waits for it no longer.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether the operation should end: its caller waits for it no longer, or it used up what it may use. Called
    /// on its thread.
    pub fn is_stopped(&self) -> bool {
        let used = || thread_time().saturating_sub(self.began.load(Ordering::Relaxed));
        self.stopped.load(Ordering::Relaxed)
            || self.limit.is_some_and(|limit| nanoseconds(limit) < used())
    }

    /// Fails if the operation should end.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_stopped() {
            let text = "it took too long, or nobody waits for it any more";
            return Err(Error::Failed(text.into()));
        }
        Ok(())
    }

    /// Runs the operation on this thread, unless it should end before it begins. Returns the CPU time that it used as well.
    pub(super) fn run<T>(&self, run: impl FnOnce() -> T) -> (Result<T, Error>, Duration) {
        let began = thread_time();
        self.began.store(began, Ordering::Relaxed);
        let result = self.check().map(|()| run());
        let used = thread_time().saturating_sub(began);
        (result, Duration::from_nanos(used))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_measured_and_ends_at_its_limit() {
        let work = Work::default();
        let spin = || {
            let began = thread_time();
            while thread_time() - began < 2_000_000 {
                std::hint::spin_loop();
            }
            7
        };
        let (result, used) = work.run(spin);
        assert_eq!(result, Ok(7));
        assert!(used >= Duration::from_millis(2));
        assert!(!work.is_stopped());
        work.stop();
        assert!(work.run(spin).0.is_err());
        let account = CpuAccount::limited(Duration::from_millis(1));
        let work = Work::of(&account);
        let (result, used) = work.run(|| while !work.is_stopped() {});
        assert_eq!(result, Ok(()));
        assert!(used >= Duration::from_millis(1));
        assert!(work.check().is_err());
    }
}
