//! Operations under way while a chat or the host ends, and those right after.

use toolhost_local::process::{Config, Limits};
use toolhost_workspace::process::{Command, Error};

use super::{TestRegistry, chat, finished, gone, open_kept, read_all, sh};
use crate::harness::{file, until};

/// Such a start stores its process after those of its chat were forgotten. A later host must not know of it.
#[tokio::test]
async fn a_start_that_its_chat_did_not_wait_for_takes_nothing_from_the_next() {
    let workspace = tempfile::tempdir().unwrap();
    let registry = open_kept(workspace.path()).await.unwrap();
    let a = chat("a");
    let first = registry.start(&a, sh("echo first")).await.unwrap();
    finished(&first).await;
    until("it has ended", || (!first.state().is_live()).then_some(())).await;
    {
        // The task of the start runs when this one waits, so that the start is let in and does not begin.
        let mut start = std::pin::pin!(registry.start(&a, sh("echo late")));
        assert!(futures_util::poll!(start.as_mut()).is_pending());
        let mut end = std::pin::pin!(registry.end_chat(&a));
        assert!(futures_util::poll!(end.as_mut()).is_pending());
        assert_eq!(start.await.unwrap_err(), Error::Closed);
        end.await;
    }
    let next = registry.start(&a, sh("echo next")).await.unwrap();
    finished(&next).await;
    until("it has ended", || (!next.state().is_live()).then_some(())).await;
    registry.shutdown().await;
    let id = next.id().to_owned();
    drop(registry);
    let registry = open_kept(workspace.path()).await.unwrap();
    let next = registry.get(&a, &id).unwrap();
    assert_eq!(read_all(&next).await, b"next\n");
    assert_eq!(
        registry.list(&a, false, 10).1,
        1,
        "the one that was refused is known"
    );
    registry.shutdown().await;
}

/// Ending takes its time, and what is started meanwhile under the same name is not of the chat that ends.
#[tokio::test]
async fn the_end_of_a_chat_takes_nothing_from_the_one_that_replaces_it() {
    let limits = Limits {
        grace: std::time::Duration::from_secs(3600),
        ..Limits::default()
    };
    let setup = TestRegistry::kept(|config| Config { limits, ..config });
    setup
        .start("trap '' TERM; echo ready > ready; while :; do sleep 0.01; done")
        .await;
    file(&setup.workspace.path().join("ready")).await;
    let a = chat("a");
    let next = {
        let mut end = std::pin::pin!(setup.registry.end_chat(&a));
        assert!(futures_util::poll!(end.as_mut()).is_pending());
        let next = setup.run("echo next").await;
        gone(&next).await;
        setup.registry.kill_now();
        assert_eq!(end.await.len(), 1);
        next.id().to_owned()
    };
    let setup = setup.reopened(|config| config).await;
    let infos = setup.registry.list(&a, false, 10).0;
    assert_eq!(infos.len(), 1);
    let next = setup.registry.get(&a, &next).unwrap();
    assert_eq!(read_all(&next).await, b"next\n");
    setup.registry.shutdown().await;
}

/// Who repeats a start waits for it. If its chat ends meanwhile, the repeat must not run the command in the next chat of that
/// name, which does not know the key.
#[tokio::test]
async fn a_repeat_that_waits_for_a_start_ends_with_its_chat() {
    let setup = TestRegistry::with(|config| config);
    let (registry, a) = (&setup.registry, chat("a"));
    let keyed = || Command {
        key: Some("k".into()),
        ..sh("echo x >> counter")
    };
    {
        let mut start = std::pin::pin!(registry.start(&a, keyed()));
        let mut repeat = std::pin::pin!(registry.start(&a, keyed()));
        assert!(futures_util::poll!(start.as_mut()).is_pending());
        assert!(futures_util::poll!(repeat.as_mut()).is_pending());
        let mut end = std::pin::pin!(registry.end_chat(&a));
        assert!(futures_util::poll!(end.as_mut()).is_pending());
        assert_eq!(start.await.unwrap_err(), Error::Closed);
        assert_eq!(repeat.await.unwrap_err(), Error::Closed);
        end.await;
    }
    let anew = registry.start(&a, keyed()).await.unwrap();
    finished(&anew).await;
    let counter = std::fs::read_to_string(setup.workspace.path().join("counter"));
    assert_eq!(counter.unwrap(), "x\n");
    registry.shutdown().await;
}

/// The lock of a state directory goes with the registry, also when a process of it was never waited for.
#[tokio::test]
async fn the_next_host_can_open_as_soon_as_the_last_was_shut_down() {
    let workspace = tempfile::tempdir().unwrap();
    for _ in 0..10 {
        let registry = open_kept(workspace.path()).await.unwrap();
        for _ in 0..3 {
            registry
                .start(&chat("a"), sh("exec sleep 1000"))
                .await
                .unwrap();
        }
        registry.shutdown().await;
    }
}
