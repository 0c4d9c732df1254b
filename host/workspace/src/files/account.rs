//! The CPU time that one caller may use for operations on files, wherever they run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The CPU time of all operations of one caller, and the most that it may be.
///
/// A workspace charges the account with the CPU time of an operation when that has ended. It ends an operation early that
/// uses up the rest of the limit.
#[derive(Debug, Default)]
pub struct CpuAccount {
    /// In nanoseconds.
    used: AtomicU64,
    limit: Option<Duration>,
}

impl CpuAccount {
    /// Makes an account of this much CPU time. The default has no limit.
    pub fn limited(limit: Duration) -> Self {
        Self {
            used: AtomicU64::new(0),
            limit: Some(limit),
        }
    }

    /// Adds the CPU time of an operation.
    pub fn add(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.used.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the CPU time of all operations that have ended.
    pub fn used(&self) -> Duration {
        Duration::from_nanos(self.used.load(Ordering::Relaxed))
    }

    /// Returns how much an operation that begins now may use; `None`: any amount.
    pub fn left(&self) -> Option<Duration> {
        Some(self.limit?.saturating_sub(self.used()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_runs_out() {
        let account = CpuAccount::limited(Duration::from_millis(3));
        account.add(Duration::from_millis(2));
        assert_eq!(account.left(), Some(Duration::from_millis(1)));
        account.add(Duration::from_millis(2));
        assert_eq!(account.left(), Some(Duration::ZERO));
        assert_eq!(account.used(), Duration::from_millis(4));
        assert_eq!(CpuAccount::default().left(), None);
    }
}
