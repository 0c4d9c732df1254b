//! A start that is under way while its chat ends.

use std::sync::mpsc;

use toolhost::process::{Config, Error, Records, Registry};
use toolhost::state_dir::StateDir;

use super::{chat, config, finished, kept, read_all, sh};
use crate::harness::until;

/// Runs something on a runtime with one thread for what blocks, so that a test can hold up a start.
fn on_one_blocking_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test);
}

/// The journal says of such a start that it belongs to the chat, whose next processes are what a later host must know.
#[test]
fn a_start_that_its_chat_did_not_wait_for_takes_nothing_from_the_next() {
    on_one_blocking_thread(async {
        let workspace = tempfile::tempdir().unwrap();
        let registry = Registry::open(kept(workspace.path())).unwrap();
        let a = chat("a");
        let first = registry.start(&a, sh("echo first")).await.unwrap();
        finished(&first).await;
        until("it has ended", || (!first.state().is_live()).then_some(())).await;
        {
            // The only thread that starts programs is held up, so that the start is let in and does not begin.
            let (release, held) = mpsc::channel::<()>();
            let hold = tokio::task::spawn_blocking(move || held.recv());
            let mut start = std::pin::pin!(registry.start(&a, sh("echo late")));
            assert!(futures_util::poll!(start.as_mut()).is_pending());
            let mut end = std::pin::pin!(registry.end_chat(&a));
            assert!(futures_util::poll!(end.as_mut()).is_pending());
            let journal = workspace.path().join("state/processes.jsonl");
            until("the end of the chat is written down", || {
                let text = std::fs::read_to_string(&journal).unwrap();
                text.contains("chat_ended").then_some(())
            })
            .await;
            drop(release);
            _ = hold.await.unwrap();
            assert_eq!(start.await.unwrap_err(), Error::Closed);
            end.await;
        }
        let next = registry.start(&a, sh("echo next")).await.unwrap();
        finished(&next).await;
        until("it has ended", || (!next.state().is_live()).then_some(())).await;
        registry.shutdown().await;
        let id = next.id().to_owned();
        drop(registry);
        let registry = Registry::open(kept(workspace.path())).unwrap();
        let next = registry.get(&a, &id).unwrap();
        assert_eq!(read_all(&next).await, b"next\n");
        assert_eq!(
            registry.list(&a, false, 10).1,
            1,
            "the one that was refused is known"
        );
        registry.shutdown().await;
    });
}

/// The lock of a state directory goes with the registry, also when a process of it was never waited for.
#[tokio::test]
async fn the_next_host_can_open_as_soon_as_the_last_was_shut_down() {
    let workspace = tempfile::tempdir().unwrap();
    for _ in 0..10 {
        let state = StateDir::open(&workspace.path().join("state")).unwrap();
        let registry = Registry::open(Config {
            records: Records::Kept(state),
            ..config(workspace.path())
        })
        .unwrap();
        for _ in 0..3 {
            registry
                .start(&chat("a"), sh("exec sleep 1000"))
                .await
                .unwrap();
        }
        registry.shutdown().await;
    }
}
