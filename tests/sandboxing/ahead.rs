//! The sandbox that is made ahead for the next chat: it is used, and it shows what one that is made at the first command would show.

use std::collections::BTreeSet;

use toolhost_needs::needs;

use super::namespaces::of_chats;
use super::site::{DEFAULT, Site, children};
use crate::harness::until;

/// Runs a command in two chats, and returns the first processes of their namespaces and of those that are then made for a third.
async fn made_ahead(site: &Site) -> BTreeSet<u32> {
    let spawner = site.spawner();
    site.run_in("a", "true").await;
    site.run_in("b", "true").await;
    until("the next sandbox is made", || {
        let all = of_chats(spawner);
        (all.len() == 3).then(|| all.into_iter().collect())
    })
    .await
}

/// Runs a script in a new chat, whose sandbox must be one that was not made ahead.
async fn runs_elsewhere(site: &Site, before: &BTreeSet<u32>, script: &str) -> String {
    let reply = site.run_in("c", script).await;
    assert_eq!(reply.code, Some(0), "{script}: {}", reply.output);
    until("the sandbox that shows something else has ended", || {
        let now = BTreeSet::from_iter(of_chats(site.spawner()));
        (!now.is_superset(before)).then_some(())
    })
    .await;
    reply.output.trim().to_owned()
}

#[needs(namespaces)]
#[tokio::test]
async fn the_next_chat_gets_the_sandbox_that_was_made_ahead() {
    let site = Site::new(DEFAULT);
    let before = made_ahead(&site).await;
    site.start_in("c", "exec sleep 1000").await;
    let is_busy = |supervisor: &u32| !children(*supervisor).is_empty();
    let runs = |first: &u32| children(*first).iter().any(is_busy);
    assert!(before.iter().any(runs));
    // It is another chat: nothing of the others is there.
    let reply = site
        .run_in("c", "ls -A /tmp; ls /proc | grep -c '^[0-9]'")
        .await;
    let first = site.run_in("a", "ls /proc | grep -c '^[0-9]'").await;
    assert!(!reply.output.contains("tmp"), "{}", reply.output);
    // The command that sleeps, and its supervisor.
    let count = |text: &str| text.trim().parse::<u32>().unwrap();
    assert_eq!(count(&reply.output), count(&first.output) + 2);
}

#[needs(namespaces)]
#[tokio::test]
async fn a_directory_that_was_replaced_is_seen_by_the_next_chat() {
    let site = Site::new(&["--sandbox-read=@DATA"]);
    let before = made_ahead(&site).await;
    std::fs::rename(site.path("data"), site.path("old")).unwrap();
    site.ground.write("data/open", "replaced\n");
    let read = runs_elsewhere(&site, &before, "cat @DATA/open").await;
    assert_eq!(read, "replaced");
}

#[needs(namespaces)]
#[tokio::test]
async fn a_directory_that_is_made_later_is_seen_by_the_next_chat() {
    let site = Site::new(&["--sandbox-read=@DATA/later"]);
    let before = made_ahead(&site).await;
    site.ground.write("data/later/file", "made later\n");
    let read = runs_elsewhere(&site, &before, "cat @DATA/later/file").await;
    assert_eq!(read, "made later");
}

#[needs(namespaces)]
#[tokio::test]
async fn a_closed_path_that_is_made_later_is_closed_in_the_next_chat() {
    let site = Site::new(&["--sandbox-read=@DATA", "--sandbox-never=@DATA/later"]);
    let before = made_ahead(&site).await;
    site.ground.write("data/later", "hunter2");
    let read = runs_elsewhere(&site, &before, "cat @DATA/later 2>&1 || true").await;
    assert!(!read.contains("hunter2"), "{read}");
}
