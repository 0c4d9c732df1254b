//! Floods of calls into the host: what they cost there is charged to the guest.

use std::time::Duration;

use toolhost::plugin::Limits;

use super::contained::{Attack, End, GUEST_TIME, contained};

#[tokio::test]
async fn host_call_loop() {
    contained("host_call_loop", GUEST_TIME).await;
}

#[tokio::test]
async fn host_calls_in_a_row() {
    contained("host_calls_in_a_row", GUEST_TIME).await;
}

/// The host does the work on threads of its own, and the guest is charged for it.
#[tokio::test]
async fn file_search_loop() {
    let attack = Attack::new("file_search_loop", Limits::default()).await;
    let line = "x".repeat(63) + "\n";
    std::fs::write(attack.setup.root().join("hello"), line.repeat(1 << 18)).unwrap();
    attack.run(GUEST_TIME).await;
}

#[tokio::test]
async fn metadata_flood() {
    contained("metadata_flood", GUEST_TIME).await;
}

#[tokio::test]
async fn random_flood() {
    contained("random_flood", GUEST_TIME).await;
}

#[tokio::test]
async fn giant_random() {
    contained("giant_random", End::Broken("exceeds limit 65536")).await;
}

#[tokio::test]
async fn clock_flood() {
    contained("clock_flood", GUEST_TIME).await;
}

#[tokio::test]
async fn attribute_flood() {
    contained("attribute_flood", GUEST_TIME).await;
}

#[tokio::test]
async fn secret_echo() {
    contained("secret_echo", GUEST_TIME).await;
}

#[tokio::test]
async fn poll_flood() {
    contained("poll_flood", GUEST_TIME).await;
}

#[tokio::test]
async fn poll_of_nothing() {
    contained("poll_of_nothing", End::Broken("empty poll list")).await;
}

/// Each of its waits ends at once, but not before a millisecond or so is over: the limit is smaller, for the test to be short.
#[tokio::test]
async fn wait_loop() {
    let limits = Limits {
        guest_time: Duration::from_millis(100),
        ..Limits::default()
    };
    let attack = Attack::new("wait_loop", limits).await;
    let ended = End::Limit("guest time limit of 100 ms reached");
    attack.run(ended).await;
}

#[tokio::test]
async fn regex_bomb() {
    contained("regex_bomb", GUEST_TIME).await;
}

#[tokio::test]
async fn output_flood() {
    contained("output_flood", GUEST_TIME).await;
}

#[tokio::test]
async fn snapshot_flood() {
    contained("snapshot_flood", GUEST_TIME).await;
}
