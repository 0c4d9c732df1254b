//! Signals from many sides at once.

use std::sync::Arc;

use toolhost_workspace::process::Signal;

use super::bench::{Bench, chat};
use crate::harness::{PATIENCE, file};

const SIGNALS: [Signal; 4] = [
    Signal::Kill,
    Signal::Terminate,
    Signal::Interrupt,
    Signal::Hangup,
];

/// Waits for what must not hang.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("{what} hangs"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_to_what_is_just_ending_are_no_errors() {
    let bench = Arc::new(Bench::new());
    for round in 0..200 {
        // Some have ended before the first signal, and some just then.
        let text = [
            "true",
            "sleep 0.002",
            "sleep 0.005 & exit 3",
            "trap '' INT HUP; sleep 0.003",
        ];
        let process = bench.start(text[round % text.len()]).await;
        let senders: Vec<_> = (0..8)
            .map(|sender| {
                let (bench, process) = (Arc::clone(&bench), Arc::clone(&process));
                tokio::spawn(async move {
                    // A kill is the last word, so the others come first.
                    for turn in (0..4).rev() {
                        let signal = SIGNALS[(turn + sender % 2) % SIGNALS.len()];
                        let sent = bench.registry.signal(&chat(), process.id(), signal, None);
                        sent.unwrap_or_else(|error| panic!("{signal}: {error}"));
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for sender in senders {
            soon("a signal", sender).await.unwrap();
        }
        soon("an end", super::bench::finished(&process)).await;
    }
    bench.works().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_signals_is_no_error() {
    let bench = Arc::new(Bench::new());
    let process = bench
        .start("trap '' INT HUP; echo x > ready; while :; do sleep 1000; done")
        .await;
    file(&bench.path("ready")).await;
    let senders: Vec<_> = (0..64)
        .map(|sender| {
            let (bench, process) = (Arc::clone(&bench), Arc::clone(&process));
            let signal = SIGNALS[2 + sender % 2];
            tokio::task::spawn_blocking(move || {
                // As many as a supervisor may be behind with at once.
                for _ in 0..3 {
                    let sent = bench.registry.signal(&chat(), process.id(), signal, None);
                    sent.unwrap_or_else(|error| panic!("{signal}: {error}"));
                }
            })
        })
        .collect();
    for sender in senders {
        soon("a signal", sender).await.unwrap();
    }
    assert!(process.state().is_live());
    bench.signal(&process, Signal::Kill);
    soon("an end", super::bench::finished(&process)).await;
}
