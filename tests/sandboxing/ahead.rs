//! The sandbox that is made ahead for the next chat: it is used, and it shows what one that is made at the first command would show.

use std::collections::BTreeSet;

use toolhost_needs::needs;

use super::namespaces::of_chats;
use super::site::{DEFAULT, Ground, Site, children};
use crate::harness::{TOKEN, until};

/// Starts a server and runs a command in two chats. Returns the first processes of their namespaces and of those that were then made for a
/// third.
async fn made_ahead(flags: &[&str]) -> (Site, BTreeSet<u32>) {
    let ground = Ground::new();
    let log = ground.path("log");
    let mut command = ground.command("serve", flags);
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("TOOLHOST_LOG", "toolhost_local=debug");
    let site = ground.serve_logged(command, log.clone()).await;
    site.run_in("a", "true").await;
    site.run_in("b", "true").await;
    until("the next sandbox is made", || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("the sandbox of the next chat is made")
            .then_some(())
    })
    .await;
    let all = BTreeSet::from_iter(of_chats(site.spawner()));
    assert_eq!(all.len(), 3, "{all:?}");
    (site, all)
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
    let (site, before) = made_ahead(DEFAULT).await;
    site.start_in("c", "exec sleep 1000").await;
    let is_busy = |supervisor: &u32| !children(*supervisor).is_empty();
    let runs = |first: &u32| children(*first).iter().any(is_busy);
    assert!(before.iter().any(runs));
    // It is another chat: each sees its own files and processes alone.
    let seen = "ls -A /tmp; cat /proc/[0-9]*/comm | grep -cx sleep || true";
    for (chat, sleeps) in [("c", "1\n"), ("a", "0\n")] {
        assert_eq!(site.run_in(chat, seen).await.output, sleeps, "{chat}");
    }
}

#[needs(namespaces)]
#[tokio::test]
async fn a_directory_that_was_replaced_is_seen_by_the_next_chat() {
    let (site, before) = made_ahead(&["--sandbox-read=@DATA"]).await;
    std::fs::rename(site.path("data"), site.path("old")).unwrap();
    site.ground.write("data/open", "replaced\n");
    let read = runs_elsewhere(&site, &before, "cat @DATA/open").await;
    assert_eq!(read, "replaced");
}

#[needs(namespaces)]
#[tokio::test]
async fn a_directory_that_is_made_later_is_seen_by_the_next_chat() {
    let (site, before) = made_ahead(&["--sandbox-read=@DATA/later"]).await;
    site.ground.write("data/later/file", "made later\n");
    let read = runs_elsewhere(&site, &before, "cat @DATA/later/file").await;
    assert_eq!(read, "made later");
}

#[needs(namespaces)]
#[tokio::test]
async fn a_closed_path_that_is_made_later_is_closed_in_the_next_chat() {
    let (site, before) = made_ahead(&["--sandbox-read=@DATA", "--sandbox-never=@DATA/later"]).await;
    site.ground.write("data/later", "hunter2");
    let read = runs_elsewhere(&site, &before, "cat @DATA/later 2>&1 || true").await;
    assert!(!read.contains("hunter2"), "{read}");
}
