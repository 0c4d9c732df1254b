//! Attacks on the operator's log: floods, and lines that pose as the host's.

use std::time::Duration;

use serde_json::json;
use toolhost_plugin::Limits;

use super::contained::{Attack, contained};
use super::host_of;
use crate::harness::logged;

#[tokio::test]
async fn log_flood() {
    let setup = host_of(&["log_flood"], Limits::default()).await;
    let lines = logged(async {
        assert!(!setup.outcome("t", json!({})).await.is_error());
    })
    .await;
    let flood: Vec<_> = lines
        .lines()
        // Another test has the same guest under another name.
        .filter(|line| line.contains("plugin=\"log_flood\"") && line.contains("flood "))
        .collect();
    // 64 KiB in lines of 1,000 bytes and one for each end.
    assert_eq!(flood.len(), 65);
    assert!(lines.contains("the rest was left out"), "{lines}");
    assert!(
        !lines.contains('\u{1b}'),
        "an escape sequence reached the log"
    );
}

#[tokio::test]
async fn forged_lines() {
    let attack = Attack::new("forged_lines", Limits::default()).await;
    let (_, lines) = attack.run().await;
    // Each text is one line, whatever is in it, and says which plugin wrote it.
    assert_eq!(lines.matches("fine\\u{a}2026").count(), 3, "{lines}");
    assert!(
        !lines
            .lines()
            .any(|line| line.starts_with("2026-01-01") || line.starts_with("forged"))
    );
}

#[tokio::test]
async fn progress_flood() {
    // Longer than the shortest time between two reports that are passed on.
    let limits = Limits {
        guest_time: Duration::from_millis(500),
        ..Limits::default()
    };
    let attack = Attack::new("progress_flood", limits).await;
    let (_, lines) = attack.run().await;
    let written: usize = lines
        .lines()
        .filter(|line| line.contains("progress 1"))
        .map(str::len)
        .sum();
    assert!(written <= 128 << 10, "{written}");
}

#[tokio::test]
async fn log_levels() {
    contained("log_levels").await;
}
