//! The calls of a plugin since the start of the host: how many there were, how many trapped, and how long they took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

/// The buckets of durations in each octave of microseconds. So a bucket is 19 % wide.
const PER_OCTAVE: u32 = 4;

/// The octaves, from a microsecond to more than an hour.
const OCTAVES: u32 = 32;

/// The number of buckets.
const BUCKETS: usize = (PER_OCTAVE * OCTAVES) as usize;

/// The calls of a plugin. Its versions share it.
#[derive(Debug)]
pub(in crate::host) struct Tally {
    traps: AtomicU64,
    /// How many calls took so long: each bucket begins where the one before ends.
    durations: [AtomicU64; BUCKETS],
}

/// How long calls of a plugin took, as far as a plugin is concerned: with the waits for its commands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct Latency {
    /// Half of the calls took at most this long, in milliseconds, within a fifth.
    pub median_ms: f64,
    /// All calls but one of a hundred took at most this long, in milliseconds, within a fifth.
    pub p99_ms: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            traps: AtomicU64::new(0),
            durations: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Tally {
    /// Counts a call that ended.
    pub(in crate::host) fn ended(&self, duration: Duration, trapped: bool) {
        if let Some(bucket) = self.durations.get(bucket(duration)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        if trapped {
            self.traps.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how many calls ended, how many of them trapped, and how long they took.
    pub(in crate::host) fn sums(&self) -> (u64, u64, Option<Latency>) {
        let counts: Vec<_> = self
            .durations
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect();
        let calls: u64 = counts.iter().sum();
        let latency = (calls > 0).then(|| Latency {
            median_ms: quantile(&counts, calls.div_ceil(2)),
            p99_ms: quantile(&counts, calls - calls / 100),
        });
        (calls, self.traps.load(Ordering::Relaxed), latency)
    }
}

/// Returns the number of the bucket of a duration.
fn bucket(duration: Duration) -> usize {
    let microseconds = u64::try_from(duration.as_micros())
        .unwrap_or(u64::MAX)
        .max(1);
    let octave = microseconds.ilog2();
    // The two bits below the highest one.
    let quarter = match octave.checked_sub(2) {
        Some(shift) => (microseconds >> shift) & 3,
        None => (microseconds << (2 - octave)) & 3,
    };
    let number = u64::from(octave * PER_OCTAVE) + quarter;
    usize::try_from(number).map_or(BUCKETS - 1, |number| number.min(BUCKETS - 1))
}

/// Returns the end of the bucket of the call that has this place among all calls, by their durations, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a bucket is no more precise")]
fn quantile(counts: &[u64], place: u64) -> f64 {
    let mut seen = 0;
    let found = counts.iter().position(|count| {
        seen += count;
        seen >= place
    });
    let number = found.unwrap_or(BUCKETS - 1) as u64 + 1;
    let (octave, quarter) = (
        number / u64::from(PER_OCTAVE),
        number % u64::from(PER_OCTAVE),
    );
    let microseconds = (1_u64 << octave.min(62)) as f64 * (1.0 + quarter as f64 / 4.0);
    microseconds / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        let mut before = 0;
        for microseconds in 0..100_000_u64 {
            let number = bucket(Duration::from_micros(microseconds));
            assert!(number >= before, "{microseconds}");
            before = number;
            let mut counts = vec![0; BUCKETS];
            counts[number] = 1;
            let end = quantile(&counts, 1) * 1000.0;
            let from = microseconds.max(1) as f64;
            assert!(
                from <= end && end <= from * 1.26 + 1.0,
                "{microseconds}: {end}"
            );
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn the_median_and_the_99th_percentile_are_within_a_fifth() {
        let tally = Tally::default();
        assert_eq!(tally.sums(), (0, 0, None));
        for milliseconds in 1..=1000_u64 {
            tally.ended(Duration::from_millis(milliseconds), milliseconds % 100 == 0);
        }
        let (calls, traps, latency) = tally.sums();
        assert_eq!((calls, traps), (1000, 10));
        let Latency { median_ms, p99_ms } = latency.unwrap();
        assert!((500.0..=625.0).contains(&median_ms), "{median_ms}");
        assert!((990.0..=1240.0).contains(&p99_ms), "{p99_ms}");
    }
}
