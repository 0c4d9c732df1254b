//! Forged, dropped, mistaken and hoarded handles.

use serde_json::json;
use toolhost_plugin::Limits;

use super::contained::{Attack, End, contained};

#[tokio::test]
async fn forged_handle() {
    contained("forged_handle").await;
}

#[tokio::test]
async fn used_after_drop() {
    contained("used_after_drop").await;
}

#[tokio::test]
async fn dropped_twice() {
    contained("dropped_twice").await;
}

#[tokio::test]
async fn handle_of_another_type() {
    contained("handle_of_another_type").await;
}

#[tokio::test]
async fn parent_dropped_first() {
    contained("parent_dropped_first").await;
}

/// A call gets a fresh instance, which knows no handle of the one before.
#[tokio::test]
async fn handle_of_an_earlier_call() {
    let attack = Attack::new("handle_of_an_earlier_call", Limits::default()).await;
    let opened = attack.call("hostile", &json!({ "open": 1 })).await;
    End::Reply("1").assert(&opened);
    attack.run().await;
}

#[tokio::test]
async fn handle_hoard() {
    contained("handle_hoard").await;
}

#[tokio::test]
async fn clock_hoard() {
    contained("clock_hoard").await;
}
