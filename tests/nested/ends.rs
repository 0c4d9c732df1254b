//! The end of a call is the end of the calls that it made.

use toolhost_call::call::{Cancelled, State};

use super::*;
use crate::harness::{until, until_dead};

/// A command that says that it runs, and its number.
fn sleeper(name: &str) -> Value {
    execute(&format!("echo $$ > {name}; exec sleep 1000"))
}

async fn pid(setup: &Setup, name: &str) -> u32 {
    setup.file(name).await.trim().parse().unwrap()
}

#[tokio::test]
async fn the_cancellation_of_a_call_ends_its_calls() {
    let setup = with_caller(&["execute"]).await;
    let calls = json!([sleeper("one"), sleeper("two"), sleeper("three")]);
    let request = plan("outer", &json!({ "calls": calls, "together": true }));
    let calling = tokio::spawn({
        let host = setup.host.clone();
        async move { call(&host, request).await }
    });
    let mut pids = Vec::new();
    for name in ["one", "two", "three"] {
        pids.push(pid(&setup, name).await);
    }
    let (chat, id) = ("chat".parse().unwrap(), "outer".parse().unwrap());
    let cancelled = setup.host.cancel(&chat, &id, &actor("host")).await;
    assert!(
        matches!(cancelled, Ok(Cancelled::Ended(_))),
        "{cancelled:?}"
    );
    // By the time of the answer, everything has ended.
    for (number, pid) in pids.into_iter().enumerate() {
        assert!(!crate::harness::is_alive(pid));
        let nested = nested(&setup.host, &format!("outer/{}", number + 1)).await;
        assert_eq!(nested.state(), State::Cancelled);
    }
    let outcome = calling.await.unwrap().unwrap();
    assert_eq!(outcome.state(), State::Cancelled);
}

#[tokio::test]
async fn a_plugin_that_breaks_leaves_no_call_behind() {
    let setup = with_caller(&["execute"]).await;
    // The plugin breaks once all calls are started: the first of them is waited for, so that it has begun.
    let calls = json!([execute("echo began > proof"), sleeper("one")]);
    let broken = json!({ "calls": calls, "together": true, "broken": true });
    let outcome = call(&setup.host, plan("outer", &broken)).await.unwrap();
    assert_eq!(outcome.state(), State::Failed);
    for id in ["outer/1", "outer/2"] {
        // It was cancelled, or had not begun.
        let live = matches!(status(&setup.host, id).await, Some(CallStatus::Live { .. }));
        assert!(!live, "{id} still runs");
    }
    if setup.root().join("one").exists() {
        until_dead(pid(&setup, "one").await).await;
    }
}

#[tokio::test]
async fn one_nested_call_can_be_cancelled() {
    let setup = with_caller(&["execute"]).await;
    let fast = execute("while [ ! -s slow ]; do sleep 0.01; done; echo fast");
    let race = json!({ "calls": [sleeper("slow"), fast], "together": true, "race": true });
    let all = ends(&setup.host, plan("outer", &race)).await;
    assert_eq!(all[1]["content"][0]["output"], "fast\n", "{all}");
    assert_eq!(all[0]["error"], "cancelled", "{all}");
    until_dead(pid(&setup, "slow").await).await;
    // And by a client, through its id.
    let waiting = plan("other", &json!({ "calls": [sleeper("third")] }));
    let calling = tokio::spawn({
        let host = setup.host.clone();
        async move { ends(&host, waiting).await }
    });
    let third = pid(&setup, "third").await;
    let (chat, id) = (
        "chat".parse().unwrap(),
        CallId::recorded("other/1").unwrap(),
    );
    setup.host.cancel(&chat, &id, &actor("host")).await.unwrap();
    let all = calling.await.unwrap();
    assert_eq!(all[0]["error"], "cancelled", "{all}");
    until("the process is gone", || {
        (!crate::harness::is_alive(third)).then_some(())
    })
    .await;
}
