//! The CPU time of an operation on files, and whether its caller still waits for it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolhost_state::thread_time::thread_time;

use super::{CpuAccount, Error};

/// One operation, which runs on one thread.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Cancelled when the caller no longer waits for the operation.
    pub(super) stopped: CancellationToken,
    /// The CPU time of the thread at which the operation has used up its limit, in nanoseconds; `None`: there is no limit.
    end: Option<u64>,
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
        let work = Self { stopped, end };
        let result = work.check().map(|()| run(&work));
        account.add(Duration::from_nanos(thread_time().saturating_sub(began)));
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
