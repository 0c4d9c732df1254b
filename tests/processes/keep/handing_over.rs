//! Hosts of different kinds, one after the other.

use toolhost_sandbox::Policy;

use super::*;

/// A host that keeps nothing takes over what an earlier one kept, and ends it when it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_keeps_nothing_takes_over_and_ends_all() {
    let setup = kept();
    let id = setup
        .start("echo $$ > pid; exec sleep 1000")
        .await
        .id()
        .to_owned();
    let pid = setup.pid("pid").await;
    let setup = resumed(setup.reopened(|config| config).await);
    assert_eq!(get(&setup, &id).state(), State::Running);
    assert!(is_alive(pid));
    let ended = setup.registry.shutdown().await;
    assert_eq!(ended.len(), 1);
    assert!(!is_alive(pid));
    let setup = setup.reopened(|config| config).await;
    let State::Exited(status) = get(&setup, &id).state() else {
        panic!("{:?}", get(&setup, &id).state())
    };
    assert_eq!(
        (status.signal.as_deref(), status.cause),
        (Some("SIGTERM"), Cause::Shutdown)
    );
}

/// What was told to end is not left to the next host, which would not know of the end of its grace.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_told_to_end_ends_with_the_host() {
    let setup = kept();
    let (process, pid) = setup.start_stubborn().await;
    let id = process.id().to_owned();
    let grace = Some(PATIENCE);
    let sent = setup
        .registry
        .signal(&chat("a"), &id, Signal::Terminate, grace);
    sent.unwrap();
    drop(process);
    setup.registry.kill_now();
    let setup = replaced(setup).await;
    assert!(!is_alive(pid));
    let State::Exited(status) = get(&setup, &id).state() else {
        panic!("{:?}", get(&setup, &id).state())
    };
    assert_eq!(status.signal.as_deref(), Some("SIGKILL"));
}

/// In the namespaces of a chat, which outlive their host for as long as its commands do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_with_namespaces_is_kept() {
    let within = |config| Config {
        sandbox: Policy::default(),
        ..keeping(config)
    };
    let setup = TestRegistry::kept(within);
    let command = "echo $$; sleep 1000 & until [ -e go ]; do sleep 0.01; done; test -d /proc/$$ && echo $$; wait";
    let id = setup.start(command).await.id().to_owned();
    let ticking = setup.start(TICKER).await.id().to_owned();
    let mut read = Vec::new();
    read_until(&get(&setup, &ticking), &mut read, 2).await;
    let setup = resumed(setup.reopened(within).await);
    read_until(&get(&setup, &ticking), &mut read, 5).await;
    setup.write("go", b"");
    // It sees itself under the same number: it is in the namespace in which it was started.
    let process = get(&setup, &id);
    let first = process.read(0, 100).await.data.len() as u64;
    written(&process, 2 * first).await;
    let numbers = String::from_utf8(process.read(0, 100).await.data).unwrap();
    let numbers: Vec<_> = numbers.lines().collect();
    assert!(
        numbers.len() == 2 && numbers[0] == numbers[1],
        "{numbers:?}"
    );
    drop(process);
    for id in [&id, &ticking] {
        let ended = setup.registry.end(&chat("a"), id).await.unwrap();
        let State::Exited(status) = ended else {
            panic!("{ended:?}")
        };
        assert_eq!(status.signal.as_deref(), Some("SIGTERM"));
    }
}
