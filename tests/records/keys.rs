//! Starts with a key: however often and however concurrently they are repeated, the command runs once.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use toolhost_workspace::process::{Command, Error, Stdin};

use super::{TestRegistry, chat, finished, sh};
use crate::harness::until;

fn keyed(key: &str, command: &str) -> Command {
    Command {
        key: Some(key.into()),
        ..sh(command)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_concurrent_starts_with_one_key_are_one_execution() {
    let setup = TestRegistry::with(|config| config);
    let starts = (0..50).map(|_| {
        let registry = Arc::clone(&setup.registry);
        tokio::spawn(async move {
            registry
                .start(&chat("a"), keyed("k", "echo x >> counter"))
                .await
        })
    });
    let started: Vec<_> = join_all(starts)
        .await
        .into_iter()
        .map(|start| start.unwrap().unwrap())
        .collect();
    assert!(
        started
            .iter()
            .all(|process| process.id() == started[0].id())
    );
    finished(&started[0]).await;
    let counter = || std::fs::read_to_string(setup.workspace.path().join("counter")).unwrap();
    assert_eq!(counter(), "x\n");
    assert_eq!(setup.registry.list(&chat("a"), false, 10).1, 1);
    // Also long after it has ended.
    let again = setup
        .registry
        .start(&chat("a"), keyed("k", "echo x >> counter"))
        .await
        .unwrap();
    assert_eq!(again.id(), started[0].id());
    setup.registry.tidy_up().await;
    let again = setup
        .registry
        .start(&chat("a"), keyed("k", "echo x >> counter"))
        .await
        .unwrap();
    assert_eq!((again.id(), counter().as_str()), (started[0].id(), "x\n"));
}

#[tokio::test]
async fn a_key_names_one_command_in_one_chat() {
    let setup = TestRegistry::with(|config| config);
    let (a, b) = (chat("a"), chat("b"));
    let first = setup.registry.start(&a, keyed("k", "true")).await.unwrap();
    let reused = Error::KeyReused("k".into());
    for other in [
        keyed("k", "true "),
        Command {
            background: true,
            ..keyed("k", "true")
        },
        Command {
            stdin: Stdin::Bytes(Vec::new()),
            ..keyed("k", "true")
        },
        Command {
            workdir: Some("/".into()),
            ..keyed("k", "true")
        },
        Command {
            env: vec![("A".into(), "b".into())],
            ..keyed("k", "true")
        },
    ] {
        assert_eq!(setup.registry.start(&a, other).await.unwrap_err(), reused);
    }
    let other_key = setup.registry.start(&a, keyed("l", "true")).await.unwrap();
    let other_chat = setup.registry.start(&b, keyed("k", "false")).await.unwrap();
    let no_chat = setup
        .registry
        .start(None, keyed("k", "exit 3"))
        .await
        .unwrap();
    let ids = [first.id(), other_key.id(), other_chat.id(), no_chat.id()];
    assert_eq!(
        ids.iter().collect::<std::collections::HashSet<_>>().len(),
        4
    );
    // The key goes with the chat that it was used in.
    setup.registry.end_chat(&a).await;
    let anew = setup
        .registry
        .start(&a, keyed("k", "echo new"))
        .await
        .unwrap();
    assert_ne!(anew.id(), first.id());
    setup.registry.shutdown().await;
}

#[tokio::test]
async fn a_start_whose_caller_left_is_the_one_that_a_repeat_finds() {
    let setup = TestRegistry::with(|config| config);
    for round in 0..20 {
        let key = format!("k{round}");
        let command = keyed(&key, "echo x >> counter");
        let a = chat("a");
        {
            let mut start = std::pin::pin!(setup.registry.start(&a, command.clone()));
            assert!(futures_util::poll!(start.as_mut()).is_pending());
        }
        let process = setup.registry.start(&a, command.clone()).await.unwrap();
        finished(&process).await;
        let again = setup.registry.start(&a, command).await.unwrap();
        assert_eq!(again.id(), process.id());
        let counter = std::fs::read_to_string(setup.workspace.path().join("counter")).unwrap();
        assert_eq!(counter.len(), 2 * (round + 1), "one line for each key");
    }
    // Also if nobody repeats it: it is a process as any other.
    let a = chat("a");
    {
        let start = setup.registry.start(&a, keyed("nobody", "true"));
        let mut start = std::pin::pin!(start);
        assert!(futures_util::poll!(start.as_mut()).is_pending());
    }
    until("it is in the list", || {
        (setup.registry.list(&a, false, 1).1 == 21).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failed_start_frees_its_key() {
    let setup = TestRegistry::with(|config| config);
    let missing = || Command {
        workdir: Some(PathBuf::from("missing")),
        ..keyed("k", "true")
    };
    let starts = (0..20).map(|_| {
        let registry = Arc::clone(&setup.registry);
        tokio::spawn(async move { registry.start(&chat("a"), missing()).await })
    });
    for start in join_all(starts).await {
        assert!(matches!(start.unwrap().unwrap_err(), Error::Workdir { .. }));
    }
    let other = setup
        .registry
        .start(&chat("a"), keyed("k", "echo other"))
        .await
        .unwrap();
    finished(&other).await;
    let reused = setup
        .registry
        .start(&chat("a"), missing())
        .await
        .unwrap_err();
    assert_eq!(reused, Error::KeyReused("k".into()));
    // The same command, once it can start.
    let retried = |key: &str| Command {
        workdir: Some(PathBuf::from("made")),
        ..keyed(key, "pwd")
    };
    let start = |command| {
        let registry = Arc::clone(&setup.registry);
        async move { registry.start(&chat("a"), command).await }
    };
    start(retried("l")).await.unwrap_err();
    std::fs::create_dir(setup.workspace.path().join("made")).unwrap();
    start(retried("l")).await.unwrap();
}
