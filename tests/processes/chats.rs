//! Scopes, lists, limits, and the ends of chats and of the host.

use super::*;

#[tokio::test]
async fn chats_do_not_see_each_other() {
    let setup = TestRegistry::new();
    let process = setup.start("exec sleep 1000").await;
    let (a, b) = (chat("a"), chat("b"));
    assert!(setup.registry.get(&a, process.id()).is_ok());
    let not_found = Error::NotFound(process.id().into());
    assert_eq!(setup.registry.get(&b, process.id()).unwrap_err(), not_found);
    assert_eq!(
        setup
            .registry
            .signal(&b, process.id(), Signal::Kill, None)
            .unwrap_err(),
        not_found
    );
    assert_eq!(setup.registry.list(&b, false, 10), (Vec::new(), 0));
    assert!(setup.registry.end_chat(&b).await.is_empty());
    assert_eq!(process.state(), State::Running);
    let ended = setup.registry.end_chat(&a).await;
    assert_eq!(ended.len(), 1);
    assert!(!process.state().is_live());
    assert!(setup.registry.get(&a, process.id()).is_err());
}

#[tokio::test]
async fn lists_live_ones_first_and_newest_first() {
    let setup = TestRegistry::new();
    let first = setup.start("exec sleep 1000").await;
    let second = setup.start("true").await;
    finished(&second).await;
    let third = setup.start("exec sleep 1000").await;
    let ids = |running_only, max| {
        let (infos, total) = setup.registry.list(&chat("a"), running_only, max);
        (
            infos.into_iter().map(|info| info.id).collect::<Vec<_>>(),
            total,
        )
    };
    assert_eq!(
        ids(false, 10),
        (
            vec![third.id().into(), first.id().into(), second.id().into()],
            3
        )
    );
    assert_eq!(ids(true, 1), (vec![third.id().into()], 2));
    setup.registry.shutdown().await;
}

#[tokio::test]
async fn the_limit_of_live_processes_names_them() {
    let setup = TestRegistry::limited(Limits {
        live_per_chat: 2,
        ..Limits::default()
    });
    let first = setup.start("exec sleep 1000").await;
    setup.start("exec sleep 2000").await;
    let start = |name: &'static str| {
        let command = Command {
            command: "exec sleep 3000".into(),
            ..Command::default()
        };
        let registry = Arc::clone(&setup.registry);
        async move { registry.start(&chat(name), command).await }
    };
    let Error::Limit(text) = start("a").await.unwrap_err() else {
        panic!()
    };
    assert!(
        text.contains(first.id()) && text.contains("sleep 2000"),
        "{text}"
    );
    start("b").await.expect("another chat has its own limit");
    setup.signal(&first, Signal::Kill);
    finished(&first).await;
    start("a").await.unwrap();
    setup.registry.shutdown().await;
}

#[tokio::test]
async fn shutdown_ends_everything_and_refuses_more() {
    let setup = TestRegistry::new();
    let mut pids = Vec::new();
    for index in 0..5 {
        setup
            .start(&format!("sleep 1000 & echo $! > {index}; exec sleep 1000"))
            .await;
        pids.push(setup.pid(&index.to_string()).await);
    }
    assert_eq!(setup.registry.shutdown().await.len(), 5);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
    let command = Command {
        command: "true".into(),
        ..Command::default()
    };
    assert_eq!(
        setup.registry.start(&chat("a"), command).await.unwrap_err(),
        Error::Closed
    );
}

/// Who asks meanwhile is not told that there never was such a process.
#[tokio::test]
async fn ids_answer_until_the_host_is_gone() {
    let setup = TestRegistry::new();
    let (process, _) = setup.start_stubborn().await;
    let ended = setup.start("exit 3").await;
    finished(&ended).await;
    let shutdown = {
        let registry = Arc::clone(&setup.registry);
        tokio::spawn(async move { registry.shutdown().await })
    };
    let refused = || async {
        let command = Command {
            command: "true".into(),
            ..Command::default()
        };
        setup.registry.start(&chat("a"), command).await.is_err()
    };
    while !refused().await {
        crate::harness::a_moment().await;
    }
    for one in [&process, &ended] {
        assert!(setup.registry.get(&chat("a"), one.id()).is_ok());
    }
    setup.registry.kill_now();
    let ended_by_it = shutdown.await.unwrap();
    assert!(ended_by_it.iter().any(|info| info.id == process.id()));
    let state = setup.registry.get(&chat("a"), ended.id()).unwrap().state();
    assert_eq!(code(&state), 3);
}

#[tokio::test]
async fn ended_processes_are_forgotten_oldest_first() {
    let setup = TestRegistry::limited(Limits {
        known_per_chat: 2,
        ..Limits::default()
    });
    let mut ids = Vec::new();
    for _ in 0..4 {
        let process = setup.start("true").await;
        finished(&process).await;
        ids.push(process.id().to_owned());
    }
    setup.registry.tidy_up().await;
    let (infos, _) = setup.registry.list(&chat("a"), false, 10);
    assert_eq!(
        infos.iter().map(|info| &info.id).collect::<Vec<_>>(),
        [&ids[3], &ids[2]]
    );
}

#[tokio::test]
async fn a_chat_is_ended_also_if_nobody_waits_for_that() {
    let limits = Limits {
        grace: Duration::from_millis(100),
        ..Limits::default()
    };
    let setup = TestRegistry::limited(limits);
    let (_, pid) = setup.start_stubborn().await;
    let a = chat("a");
    let mut ending = Box::pin(setup.registry.end_chat(&a));
    assert!(futures_util::poll!(ending.as_mut()).is_pending());
    drop(ending);
    assert_eq!(setup.registry.list(&a, false, 10).1, 0);
    // Shutdown knows of it, although the chat is gone.
    setup.registry.shutdown().await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_list_stays_small_however_long_the_commands_are() {
    let setup = TestRegistry::new();
    let process = setup
        .start(&format!("true # {}", "x".repeat(100_000)))
        .await;
    finished(&process).await;
    assert!(process.command().len() < 3000);
    let (infos, _) = setup.registry.list(&chat("a"), false, 10);
    assert!(infos[0].command.len() < 3000 && infos[0].command.ends_with('…'));
}

#[tokio::test]
async fn a_hurry_takes_the_grace_from_what_is_being_ended() {
    let limits = Limits {
        grace: Duration::from_secs(3600),
        ..Limits::default()
    };
    let setup = TestRegistry::limited(limits);
    let (_, pid) = setup.start_stubborn().await;
    let mut ending = Box::pin(setup.registry.shutdown());
    assert!(futures_util::poll!(ending.as_mut()).is_pending());
    setup.registry.kill_now();
    tokio::time::timeout(PATIENCE, ending)
        .await
        .expect("it waits for the grace");
    assert!(!is_alive(pid));
}

/// One process is ended as a chat is: with a grace that `kill_now` cuts short, and also if its caller leaves.
#[tokio::test]
async fn the_end_of_one_process_is_waited_for() {
    let limits = Limits {
        grace: Duration::from_secs(3600),
        ..Limits::default()
    };
    let setup = TestRegistry::limited(limits);
    let other = setup.start("exec sleep 1000").await;
    let (process, pid) = setup.start_stubborn().await;
    let a = chat("a");
    let mut ending = Box::pin(setup.registry.end(&a, process.id()));
    assert!(futures_util::poll!(ending.as_mut()).is_pending());
    drop(ending);
    let ended = setup.registry.end(&a, other.id()).await.unwrap();
    assert!(matches!(ended, State::Exited(_)), "{ended:?}");
    assert!(is_alive(pid));
    let ending = setup.registry.end(&a, process.id());
    setup.registry.kill_now();
    let ended = tokio::time::timeout(PATIENCE, ending).await;
    let ended = ended.expect("it waits for the grace").unwrap();
    assert!(!is_alive(pid));
    let State::Exited(status) = &ended else {
        panic!("{ended:?}")
    };
    assert_eq!(
        (status.signal.as_deref(), status.cause),
        (Some("SIGKILL"), Cause::Cancelled)
    );
    assert_eq!(setup.registry.end(&a, process.id()).await.unwrap(), ended);
    let unknown = setup.registry.end(&chat("b"), process.id()).await;
    assert!(matches!(unknown, Err(Error::NotFound(_))), "{unknown:?}");
    setup.registry.shutdown().await;
}
