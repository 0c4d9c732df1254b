//! Hostile guests, by what they attack: each is held by its limit, says which, and disturbs nobody.

mod boundary;
mod cancelling;
mod chats;
mod contained;
mod cpu;
mod drip;
mod expected;
mod handles;
mod host_calls;
mod leaks;
mod loading;
mod log;
mod memory;
mod names;
mod paths;
mod processes;
mod reentrancy;
mod secrets;
mod set;
mod stack;
mod stdio;
mod tables;

use serde_json::json;
use toolhost_plugin::Limits;
use toolhost_workspace::files::FilesGrant;

use crate::guest::{guest, limited};
use crate::harness::Setup;
use contained::contained;

/// A host with these guests, and nothing else. The tool of the guest `x` is `x__t`, unless it is the only one.
async fn host_of(guests: &[&str], limits: Limits) -> Setup {
    Setup::with(|mut builder| {
        builder = builder.without_shell().files(FilesGrant::None);
        for name in guests {
            builder = builder.plugin(guest(name), limited(name, limits.clone()));
        }
        builder
    })
    .await
}

/// Also the harness itself: this guest gets through.
#[tokio::test]
async fn well_behaved() {
    contained("well_behaved").await;
    let setup = host_of(&["well_behaved"], Limits::default()).await;
    let outcome = setup.outcome("t", json!({})).await;
    assert_eq!(
        serde_json::to_value(outcome.as_ref()).unwrap()["state"],
        "finished"
    );
}
