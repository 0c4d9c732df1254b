//! The CPU time of an operation on files, and whether its caller still waits for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolhost_state::thread_time::thread_time;

use super::{CpuAccount, Error};

/// One operation, which runs on one thread.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Cancelled when the caller no longer waits for the operation.
    pub(super) stopped: CancellationToken,
    /// The CPU time of the thread at the beginning.
    began: u64,
    /// The CPU time of the thread at which the operation has used up its limit, in nanoseconds; `None`: there is no limit.
    end: Option<u64>,
    /// The CPU time of the threads that help, in nanoseconds.
    helped: AtomicU64,
}

impl Work {
    /// Runs an operation on this thread, within the rest of an account, which is charged. The operation does not begin if
    /// nothing is left or its caller no longer waits.
    pub(super) fn run<T>(
        account: &CpuAccount,
        stopped: CancellationToken,
        run: impl FnOnce(&Self) -> T,
    ) -> Result<T, Error> {
        let began = thread_time();
        let limit = account.left().map(nanoseconds);
        let end = limit.map(|limit| began.saturating_add(limit));
        let work = Self {
            stopped,
            began,
            end,
            helped: AtomicU64::new(0),
        };
        let result = work.check().map(|()| run(&work));
        let own = thread_time().saturating_sub(began);
        let helped = work.helped.into_inner();
        account.add(Duration::from_nanos(own.saturating_add(helped)));
        result
    }

    /// Does a part of the operation on this thread, which is another one than that of the operation. It gets its part of the rest of the
    /// CPU time, among so many threads.
    pub(super) fn help<T>(&self, threads: usize, run: impl FnOnce(&Self) -> T) -> T {
        let began = thread_time();
        let part = |end: u64| end.saturating_sub(self.began) / threads.max(1) as u64;
        let work = Self {
            stopped: self.stopped.clone(),
            began,
            end: self.end.map(|end| began.saturating_add(part(end))),
            helped: AtomicU64::new(0),
        };
        let result = run(&work);
        let own = thread_time().saturating_sub(began);
        self.helped.fetch_add(own, Ordering::Relaxed);
        result
    }

    /// Fails if the operation should end: its caller no longer waits, or its CPU time is used up. Called on its thread.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.stopped.is_cancelled() || self.end.is_some_and(|end| end < thread_time()) {
            let text = "it took too long, or nobody waits for it any more";
            return Err(Error::Failed(text.into()));
        }
        Ok(())
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
        let stopped = CancellationToken::new();
        let account = CpuAccount::default();
        let spin = |_: &Work| {
            let began = thread_time();
            while thread_time() - began < 2_000_000 {
                std::hint::spin_loop();
            }
            7
        };
        assert_eq!(Work::run(&account, stopped.clone(), spin), Ok(7));
        assert!(account.used() >= Duration::from_millis(2));
        stopped.cancel();
        assert!(Work::run(&account, stopped, spin).is_err());
        let account = CpuAccount::limited(Duration::from_millis(1));
        let until_stopped = |work: &Work| while work.check().is_ok() {};
        let ran = Work::run(&account, CancellationToken::new(), until_stopped);
        assert_eq!(ran, Ok(()));
        assert!(account.used() >= Duration::from_millis(1));
        assert!(Work::run(&account, CancellationToken::new(), spin).is_err());
    }
}
