//! Warnings about connections that could not be accepted, such as for lack of descriptors: at most one every 5 seconds.

use std::time::{Duration, Instant};

use toolhost_state::own_limits;

/// The time between two warnings.
const QUIET: Duration = Duration::from_secs(5);

/// The failures since the last warning.
#[derive(Debug, Default)]
pub(super) struct AcceptErrors {
    count: u64,
    warned: Option<Instant>,
}

impl AcceptErrors {
    /// Counts a failure, and logs a warning unless the last one was less than [`QUIET`] ago.
    pub(super) fn warn(&mut self, error: &std::io::Error) {
        // A command may have taken the descriptors of this process.
        own_limits::look();
        if let Some(count) = self.count(Instant::now()) {
            tracing::warn!(%error, count, "connections could not be accepted");
        }
    }

    /// Counts a failure. If a warning is due, returns the number of failures that it reports.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        if self
            .warned
            .is_some_and(|warned| now.duration_since(warned) < QUIET)
        {
            return None;
        }
        self.warned = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_at_once_and_then_now_and_then() {
        let mut errors = AcceptErrors::default();
        let begun = Instant::now();
        assert_eq!(errors.count(begun), Some(1));
        for _ in 0..99 {
            assert_eq!(errors.count(begun + QUIET / 2), None);
        }
        assert_eq!(errors.count(begun + QUIET), Some(100));
    }
}
