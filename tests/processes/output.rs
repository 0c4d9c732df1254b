//! The part of an output that is kept, and waiting for it.

use super::*;

#[tokio::test]
async fn long_output_keeps_both_ends_and_exact_counts() {
    let setup = TestRegistry::new();
    let process = setup.start("seq 1 200000").await;
    finished(&process).await;
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let snapshot = process.snapshot().await;
    assert_eq!(snapshot.total, expected.len() as u64);
    assert!(
        expected.as_bytes().starts_with(&snapshot.head)
            && expected.as_bytes().ends_with(&snapshot.tail)
    );
    assert_eq!(
        (snapshot.head.len(), snapshot.tail.len()),
        (32 * 1024, 32 * 1024)
    );
    // The middle is not in memory, but it was saved.
    assert_eq!(snapshot.saved, Saved::Complete);
    let middle = process.read(40_000, 10).await;
    assert_eq!(
        (middle.offset, middle.data.as_slice()),
        (40_000, &expected.as_bytes()[40_000..40_010])
    );
}

#[tokio::test]
async fn what_is_not_saved_is_a_gap_of_exact_size() {
    let setup = TestRegistry::with(|config| Config {
        save_limits: SaveLimits {
            per_process: 50_000,
            ..SaveLimits::default()
        },
        ..config
    });
    let process = setup.start("seq 1 200000").await;
    finished(&process).await;
    let snapshot = process.snapshot().await;
    assert_eq!(snapshot.saved, Saved::Partial(50_000));
    let last = process.read(49_990, 100).await;
    assert_eq!((last.offset, last.data.len()), (49_990, 10));
    let gap = process.read(50_000, 10).await;
    assert_eq!(gap.offset, snapshot.total - 32 * 1024);
}

#[tokio::test]
async fn a_flood_is_stopped_at_its_limit() {
    let setup = TestRegistry::limited(Limits {
        output: 1 << 20,
        ..Limits::default()
    });
    let process = setup.start("yes").await;
    finished(&process).await;
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!(status.cause, Cause::OutputLimit);
}

#[tokio::test]
async fn waits_end_for_what_was_asked() {
    let setup = TestRegistry::new();
    nix::unistd::mkfifo(
        &setup.workspace.path().join("go"),
        nix::sys::stat::Mode::S_IRWXU,
    )
    .unwrap();
    let process = setup.start("echo one; cat go; exec sleep 1000").await;
    let wait = |options: WaitOptions| {
        let process = Arc::clone(&process);
        async move { process.wait(&options).await }
    };
    let long = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    let waited = wait(WaitOptions {
        output: true,
        ..long.clone()
    })
    .await
    .unwrap();
    assert_eq!((waited.wake, waited.state.is_live()), (Wake::Output, true));
    let waited = wait(WaitOptions {
        until: Some("o(n)e".into()),
        ..long.clone()
    })
    .await
    .unwrap();
    assert_eq!((waited.wake, waited.match_end), (Wake::Matched, Some(3)));
    assert_eq!(
        wait(WaitOptions::default()).await.unwrap().wake,
        Wake::TimedOut
    );
    // Nothing past the cursor yet: the wait sleeps until there is.
    let later = tokio::spawn(wait(WaitOptions {
        output: true,
        since: 4,
        ..long.clone()
    }));
    std::fs::write(setup.workspace.path().join("go"), "two\n").unwrap();
    let waited = later.await.unwrap().unwrap();
    assert_eq!((waited.wake, waited.total), (Wake::Output, 8));
    for bad in ["(", &"x".repeat(5000), "(a{1000}){1000}"] {
        let error = wait(WaitOptions {
            until: Some(bad.into()),
            ..long.clone()
        })
        .await
        .unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
    setup.registry.shutdown().await;
}

/// Every wake of a waiting guest costs it guest time, so a flood must not wake who waits for the end.
#[tokio::test]
async fn output_does_not_wake_who_waits_for_the_end() {
    let setup = TestRegistry::new();
    let process = setup.start("head -c 200000000 /dev/zero").await;
    let mut polls = 0;
    let options = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    let mut wait = std::pin::pin!(process.wait(&options));
    let counted = std::future::poll_fn(|context| {
        polls += 1;
        wait.as_mut().poll(context)
    });
    assert_eq!(counted.await.unwrap().wake, Wake::Ended);
    assert_eq!(process.snapshot().await.total, 200_000_000);
    assert!(polls < 20, "woken {polls} times");
}

#[tokio::test]
async fn an_ended_process_holds_no_descriptor() {
    const COUNT: usize = 120;
    let setup = TestRegistry::new();
    for _ in 0..COUNT {
        let process = setup.start("true").await;
        finished(&process).await;
    }
    assert_eq!(setup.registry.list(&chat("a"), false, 1).1, COUNT);
    // Other tests of this program have some at the same time, but not nearly as many.
    until("the descriptors are closed", || {
        let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let links = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        let pidfds = links
            .filter(|link| link.to_string_lossy().contains("socket:"))
            .count();
        (pidfds < COUNT / 2).then_some(())
    })
    .await;
}

/// A search that is as slow as it may be does not outlast its wait, nor miss what only the disk has.
#[tokio::test]
async fn a_search_ends_with_its_wait_and_sees_what_is_saved() {
    let setup = TestRegistry::new();
    let flood = setup.start("yes x | head -c 2000000000; sleep 1000").await;
    let options = WaitOptions {
        timeout: Duration::from_millis(200),
        until: Some("(x.?x.?){4}never".into()),
        ..WaitOptions::default()
    };
    let waited = tokio::time::timeout(PATIENCE, flood.wait(&options)).await;
    assert_eq!(waited.unwrap().unwrap().wake, Wake::TimedOut);
    setup.signal(&flood, Signal::Kill);

    let process = setup
        .start("seq 1 50000; echo READY in the middle; seq 1 50000; sleep 1000")
        .await;
    setup.when(|| process.info().total >= 577_808).await;
    for (until, expected) in [
        ("^READY", Wake::Matched),
        ("50000\nREADY in", Wake::Matched),
        ("^EADY", Wake::TimedOut),
        ("EADY$", Wake::TimedOut),
        ("^in", Wake::TimedOut),
    ] {
        let options = WaitOptions {
            timeout: if expected == Wake::Matched {
                PATIENCE
            } else {
                Duration::from_millis(100)
            },
            until: Some(until.into()),
            ..WaitOptions::default()
        };
        let waited = process.wait(&options).await.unwrap();
        assert_eq!(waited.wake, expected, "{until}");
        if let Some(end) = waited.match_end {
            let read = process.read(end, 7).await;
            assert!(
                " in the".as_bytes().starts_with(&read.data[..3]) || read.data.starts_with(b" the")
            );
        }
    }
    setup.signal(&process, Signal::Kill);
}

/// Where two pieces of a search meet is no end of a line, and lines may end as other systems end them.
#[tokio::test]
async fn a_search_sees_whole_lines() {
    let setup = TestRegistry::new();
    let text = "head -c 70000 /dev/zero | tr '\\0' a; echo b; printf 'ready\\r\\n'; sleep 1000";
    let process = setup.start(text).await;
    // The end of the output so far counts as the end of a line.
    setup.when(|| process.info().total >= 70_009).await;
    for (until, end) in [
        ("a$", None),
        ("ready$", Some(70_007)),
        ("b$", Some(70_001)),
        ("^ready", Some(70_007)),
    ] {
        let options = WaitOptions {
            timeout: if end.is_some() {
                PATIENCE
            } else {
                Duration::from_millis(100)
            },
            until: Some(until.into()),
            ..WaitOptions::default()
        };
        assert_eq!(
            process.wait(&options).await.unwrap().match_end,
            end,
            "{until}"
        );
    }
    setup.signal(&process, Signal::Kill);
}

/// Who waits for output waits for that of survivors, too.
#[tokio::test]
async fn survivors_can_be_waited_for() {
    let setup = TestRegistry::new();
    let process = setup
        .start("mkfifo go; (read x < go; echo listening; exec sleep 1000) & echo hi")
        .await;
    finished(&process).await;
    let wait = |until: Option<&str>| {
        let process = Arc::clone(&process);
        let until = until.map(str::to_owned);
        tokio::spawn(async move {
            let options = WaitOptions {
                timeout: PATIENCE,
                since: 3,
                output: until.is_none(),
                until,
            };
            process.wait(&options).await.unwrap().wake
        })
    };
    let (text, output) = (wait(Some("listening")), wait(None));
    tokio::task::yield_now().await;
    setup.start("echo x > go").await;
    assert_eq!(text.await.unwrap(), Wake::Matched);
    assert_eq!(output.await.unwrap(), Wake::Output);
    let never = wait(Some("never"));
    setup.signal(&process, Signal::Kill);
    assert_eq!(never.await.unwrap(), Wake::Ended);
}
