//! What was found lasts as long as its chat: beyond the end of the host, and at every host of one store.

use toolhost_needs::needs;

use super::*;
use crate::harness::{cluster, postgres};

#[tokio::test]
async fn a_restart_keeps_what_was_found() {
    let state = tempfile::tempdir().unwrap();
    let start = async || {
        Setup::with(|builder| many(builder.keep(state.path().join("state")).unwrap(), search()))
            .await
    };
    let setup = start().await;
    find(&setup, "kept", "select:list_train,get_pod").await;
    find(&setup, "kept", "select:create_deal").await;
    let before = offered(&setup, "kept").await;
    assert!(
        before.ends_with(&["list_train", "get_pod", "create_deal"].map(str::to_owned)),
        "{before:?}"
    );
    setup.host.shutdown().await;
    drop(setup);
    let setup = start().await;
    assert_eq!(offered(&setup, "kept").await, before);
    setup.host.shutdown().await;
}

#[tokio::test]
async fn what_was_found_ends_with_the_chat() {
    let setup = setup().await;
    let before = offered(&setup, "ended").await;
    find(&setup, "ended", "select:get_pod").await;
    find(&setup, "other", "select:get_pod").await;
    // A token of some tools ends only these, and the chat goes on.
    let bounded = actor().with_tools(["get_pod".to_owned()].into());
    setup.host.end_chat(&chat("ended"), &bounded).await.unwrap();
    assert_eq!(offered(&setup, "ended").await.len(), before.len() + 1);
    setup.host.end_chat(&chat("ended"), &actor()).await.unwrap();
    assert_eq!(offered(&setup, "ended").await, before);
    assert_eq!(offered(&setup, "other").await.len(), before.len() + 1);
}

#[tokio::test]
async fn a_chat_remembers_a_bounded_number_of_tools() {
    let setup = setup().await;
    let base = offered(&setup, "full").await;
    let all = setup.host.offered_without_chat(&actor(), Format::OpenAi);
    let hidden = all.iter().map(|tool| tool.name.as_str());
    let hidden = hidden.filter(|name| !base.iter().any(|listed| listed == name));
    let names: Vec<_> = hidden.collect();
    for some in names.chunks(20) {
        find(&setup, "full", &format!("select:{}", some.join(","))).await;
    }
    assert_eq!(offered(&setup, "full").await.len(), base.len() + 256);
}

#[needs(postgres)]
#[tokio::test]
async fn hosts_that_share_a_store_agree() {
    let url = postgres::database();
    let host = async || {
        let (state, _) = cluster::state(postgres::config(&url)).await;
        Setup::with(|builder| many(builder.state(state), search())).await
    };
    let (one, other) = (host().await, host().await);
    let before = offered(&other, "shared").await;
    find(&one, "shared", "select:list_train,get_pod").await;
    let after = offered(&one, "shared").await;
    assert_eq!(after.len(), before.len() + 2);
    assert_eq!(offered(&other, "shared").await, after);
    one.host.end_chat(&chat("shared"), &actor()).await.unwrap();
    assert_eq!(offered(&other, "shared").await, before);
}
