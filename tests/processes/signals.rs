//! Signals, the grace, and what they are told to have caused.

use super::*;

#[tokio::test]
async fn a_signal_is_told_by_name_and_cause() {
    let setup = TestRegistry::new();
    let (state, _) = setup.output_of("kill -SEGV $$").await;
    let State::Exited(status) = state else {
        panic!("{state:?}")
    };
    assert_eq!(
        (status.code, status.signal.as_deref(), status.cause),
        (None, Some("SIGSEGV"), Cause::Itself)
    );
    let process = setup.start("sleep 1000").await;
    setup.signal(&process, Signal::Kill);
    finished(&process).await;
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!(
        (status.signal.as_deref(), status.cause),
        (Some("SIGKILL"), Cause::Signalled)
    );
}

#[tokio::test]
async fn terminate_becomes_kill_after_the_grace() {
    let setup = TestRegistry::new();
    let (process, pid) = setup.start_stubborn().await;
    setup
        .registry
        .signal(
            &chat("a"),
            process.id(),
            Signal::Terminate,
            Some(Duration::from_millis(50)),
        )
        .unwrap();
    finished(&process).await;
    assert!(!is_alive(pid));
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!(status.cause, Cause::Signalled);
}

#[tokio::test]
async fn terminate_reaches_a_stopped_process_and_its_children() {
    let setup = TestRegistry::new();
    let process = setup
        .start("sleep 1000 & echo $! > child; echo $$ > pid; kill -STOP $$; wait")
        .await;
    let (child, pid) = (setup.pid("child").await, setup.pid("pid").await);
    setup.signal(&process, Signal::Terminate);
    until_dead(pid).await;
    until_dead(child).await;
}

#[tokio::test]
async fn a_handler_of_its_own_decides_the_exit_code() {
    let setup = TestRegistry::new();
    let process = setup
        .start("trap 'echo bye; exit 7' TERM; echo ready > ready; while :; do sleep 0.01; done")
        .await;
    setup.written("ready").await;
    setup.signal(&process, Signal::Terminate);
    finished(&process).await;
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!((status.code, status.cause), (Some(7), Cause::Signalled));
    // A signal to what has ended is no error: its state says so.
    let again = setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Kill, None);
    assert_eq!(again.unwrap(), process.state());
}

#[tokio::test]
async fn each_signal_arrives() {
    let setup = TestRegistry::new();
    for (signal, name) in [
        (Signal::Interrupt, "INT"),
        (Signal::Hangup, "HUP"),
        (Signal::Quit, "QUIT"),
        (Signal::User1, "USR1"),
        (Signal::User2, "USR2"),
    ] {
        let command = format!(
            "trap 'echo {name}; exit 0' {name}; echo r > ready-{name}; while :; do sleep 0.01; done"
        );
        let process = setup.start(&command).await;
        setup.written(&format!("ready-{name}")).await;
        setup.signal(&process, signal);
        finished(&process).await;
        // The shell may say more, as the `sleep` that it waited for got the signal too.
        let output = String::from_utf8(process.snapshot().await.head).unwrap();
        assert!(output.ends_with(&format!("{name}\n")), "{output}");
    }
}

#[tokio::test]
async fn what_escaped_its_group_does_not_hold_a_place_after_a_kill() {
    let setup = TestRegistry::with(|config| Config {
        spawner: None,
        limits: Limits {
            live_per_chat: 1,
            ..Limits::default()
        },
        ..config
    });
    let process = setup
        .start("setsid sh -c 'echo $$ > pid; exec sleep 1000' & echo hi")
        .await;
    finished(&process).await;
    assert_lingers(&process);
    let escaped = setup.pid("pid").await;
    setup.signal(&process, Signal::Kill);
    until("the process has exited", || {
        matches!(process.state(), State::Exited(_)).then_some(())
    })
    .await;
    setup.start("true").await;
    // Process groups cannot contain it; that it is still there is what SECURITY.md says.
    assert!(is_alive(escaped));
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(escaped as i32),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
}

#[tokio::test]
async fn a_later_terminate_with_a_shorter_grace_counts() {
    let setup = TestRegistry::new();
    let (process, pid) = setup.start_stubborn().await;
    let terminate = |grace| {
        setup
            .registry
            .signal(&chat("a"), process.id(), Signal::Terminate, Some(grace))
            .unwrap()
    };
    for _ in 0..100 {
        terminate(Duration::from_secs(3600));
    }
    terminate(Duration::ZERO);
    finished(&process).await;
    assert!(!is_alive(pid));
}

/// A signal for what outlives a shell did not end that shell.
#[tokio::test]
async fn who_ends_survivors_did_not_end_the_shell() {
    let setup = TestRegistry::new();
    let process = setup.start("sleep 1000 & exit 3").await;
    finished(&process).await;
    let lingering = process.state();
    assert!(matches!(lingering, State::Lingering(_)), "{lingering:?}");
    let sent = setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Terminate, None);
    sent.unwrap();
    setup.when(|| !process.state().is_live()).await;
    let state = process.state();
    let status = state.exit_status().unwrap();
    assert_eq!((status.code, status.cause), (Some(3), Cause::Itself));
}
