//! The numbers of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::time::Instant;

/// Defines a counter for each name, with a function that counts.
macro_rules! counters {
    ($($name:ident: $text:literal,)*) => {
        /// The numbers of a run.
        #[derive(Debug)]
        pub(crate) struct Tally {
            begun: Instant,
            is_stormy: AtomicBool,
            $($name: AtomicU64,)*
        }

        impl Tally {
            pub(crate) fn new() -> Self {
                Self { begun: Instant::now(), is_stormy: AtomicBool::new(true), $($name: AtomicU64::new(0),)* }
            }

            $(pub(crate) fn $name(&self) {
                self.$name.fetch_add(1, Ordering::Relaxed);
            })*

            /// Returns all numbers.
            pub(crate) fn numbers(&self) -> Vec<(&'static str, u64)> {
                vec![$(($text, self.$name.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

counters! {
    call: "calls",
    request: "requests",
    lost_connection: "requests whose host was killed",
    timeout: "requests that took too long",
    refused: "requests that were refused for now",
    cancellation: "cancellations",
    cancelled: "requests that were refused as cancelled",
    tombstone: "cancellations before the call",
    kill: "hosts killed",
    stop: "hosts stopped for longer than their lease",
    cut: "links cut",
    restart: "restarts of the database",
    statement: "statements",
    lost_request: "statements whose connection was lost before",
    lost_answer: "statements whose answer was lost",
    late: "statements that were made late",
    failed: "statements that failed",
    lost_lease: "leases lost by hosts that lived",
    settled: "calls taken over and settled",
    resumed: "calls that ran again, to find what they had started",
    unknown: "answers that were unknown",
    final_unknown: "calls whose outcome stays unknown",
}

impl Tally {
    /// Returns whether things go wrong at this time.
    pub(crate) fn is_stormy(&self) -> bool {
        self.is_stormy.load(Ordering::Relaxed)
    }

    pub(crate) fn calm(&self) {
        self.is_stormy.store(false, Ordering::Relaxed);
    }

    /// Returns the time of the simulation, in milliseconds from its beginning.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap()
    }

    /// Returns the number with this text.
    pub(crate) fn number(&self, text: &str) -> u64 {
        let numbers = self.numbers();
        numbers.iter().find(|(one, _)| *one == text).unwrap().1
    }
}
