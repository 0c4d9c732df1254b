//! Guests that leave processes behind, or leave themselves.

use serde_json::json;
use toolhost_plugin::{Engine, Limits, Plugin};

use super::contained::{Attack, contained, load_error};
use super::host_of;
use crate::guest::guest;
use crate::harness::{Setup, until};

/// Waits until no process of any chat is left. It goes on its own: nothing but the end of its call ends it.
pub(super) async fn none_is_left(setup: &Setup) {
    until("the processes are gone", || {
        (setup.host.local().unwrap().processes().live() == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn orphan_maker() {
    let attack = Attack::new("orphan_maker", Limits::default()).await;
    let (outcome, _) = attack.run().await;
    assert_eq!(
        outcome.processes.len(),
        1,
        "the caller learns of the process"
    );
    none_is_left(&attack.setup).await;
}

#[tokio::test]
async fn start_flood() {
    let attack = Attack::new("start_flood", Limits::default()).await;
    let (outcome, _) = attack.run().await;
    let most = Limits::default().process_starts as usize;
    assert!((1..=most).contains(&outcome.processes.len()), "{outcome:?}");
    none_is_left(&attack.setup).await;
}

/// A plugin takes rights from its own commands, and can give them none.
#[tokio::test]
async fn half_writer() {
    let attack = Attack::new("half_writer", Limits::default()).await;
    attack.run().await;
    none_is_left(&attack.setup).await;
    assert_eq!(attack.setup.file("free").await, "x\n");
    assert!(!attack.setup.root().join("held").exists());
}

#[tokio::test]
async fn process_user() {
    let engine = Engine::new(None).unwrap();
    let without = toolhost_core::Options::new("curious");
    let error = Plugin::load(&engine, &guest("process_user"), without)
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @r#"the plugin imports toolhost:plugin/processes@0.1.0, which it was not granted: to grant it, put `grants = { processes = "own" }` into [plugins.curious]. `processes` lets it run any command as the user of the host, and see and signal those of the calling chat"#);
    let granted = host_of(&["process_user"], Limits::default()).await;
    assert!(!granted.outcome("t", json!({})).await.is_error());
}

#[tokio::test]
async fn file_writer() {
    contained("file_writer").await;
}

/// The host stays.
#[tokio::test]
async fn exit() {
    contained("exit").await;
}

#[tokio::test]
async fn exit_in_list_tools() {
    load_error("exit_in_list_tools").await;
}
