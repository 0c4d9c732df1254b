//! Floods of calls into the host: what they cost there is charged to the guest.

use super::contained::{Attack, contained, short};

#[tokio::test]
async fn host_call_loop() {
    contained("host_call_loop").await;
}

/// No machine copies 20 GiB in this time, so the guest ends within the row; a guest that gets through it replies.
#[tokio::test]
async fn host_calls_in_a_row() {
    contained("host_calls_in_a_row").await;
}

/// The host does the work on threads of its own, and the guest is charged for it.
#[tokio::test]
async fn file_search_loop() {
    let attack = Attack::new("file_search_loop", short()).await;
    let line = "x".repeat(63) + "\n";
    std::fs::write(attack.setup.root().join("hello"), line.repeat(1 << 18)).unwrap();
    attack.run().await;
}

#[tokio::test]
async fn metadata_flood() {
    contained("metadata_flood").await;
}

#[tokio::test]
async fn random_flood() {
    contained("random_flood").await;
}

#[tokio::test]
async fn giant_random() {
    contained("giant_random").await;
}

#[tokio::test]
async fn clock_flood() {
    contained("clock_flood").await;
}

#[tokio::test]
async fn attribute_flood() {
    contained("attribute_flood").await;
}

#[tokio::test]
async fn secret_echo() {
    contained("secret_echo").await;
}

#[tokio::test]
async fn poll_flood() {
    contained("poll_flood").await;
}

#[tokio::test]
async fn poll_of_nothing() {
    contained("poll_of_nothing").await;
}

#[tokio::test]
async fn wait_loop() {
    contained("wait_loop").await;
}

#[tokio::test]
async fn regex_bomb() {
    contained("regex_bomb").await;
}

#[tokio::test]
async fn output_flood() {
    contained("output_flood").await;
}

#[tokio::test]
async fn snapshot_flood() {
    contained("snapshot_flood").await;
}
