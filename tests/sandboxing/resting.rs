//! Chats in which nothing has run for a while: their namespaces end, and nothing else is lost.

use std::time::Duration;

use toolhost_local::process::{Config, Limits, Spawner};
use toolhost_needs::needs;
use toolhost_sandbox::Policy;

use super::namespaces::of_chats;
use crate::harness::processes::{TestRegistry, chat, finished};
use crate::harness::{program, until};

/// A registry whose chats rest as soon as nothing runs, and its spawner.
fn registry() -> (TestRegistry, Spawner) {
    let spawner = Spawner::start_without_cgroup(program()).unwrap();
    let limits = Limits {
        idle_sandbox: Duration::ZERO,
        ..Limits::default()
    };
    let change = |config| Config {
        spawner: Some(spawner.clone()),
        sandbox: Policy::default(),
        limits,
        ..config
    };
    (TestRegistry::with(change), spawner)
}

/// Lets chats rest, and waits until no namespaces are left.
async fn rest(test: &TestRegistry, spawner: &Spawner) {
    // A process is over a moment after it has finished.
    loop {
        test.registry.tidy_up().await;
        if of_chats(spawner.pid()).is_empty() {
            return;
        }
        crate::harness::a_moment().await;
    }
}

#[needs(namespaces)]
#[tokio::test]
async fn the_namespaces_of_a_chat_that_rests_end_and_come_back() {
    let (test, spawner) = registry();
    let first = test
        .run("echo kept > /tmp/kept; mkdir $TMPDIR/d; echo said")
        .await;
    rest(&test, &spawner).await;
    let (_, output) = test
        .output_of("cat /tmp/kept; ls -d $TMPDIR/d; echo $$")
        .await;
    assert!(output.starts_with("kept\n/tmp/d\n"), "{output}");
    let found = test.registry.get(&chat("a"), first.id()).unwrap();
    assert_eq!(found.snapshot().await.head, b"said\n");
    rest(&test, &spawner).await;
}

#[needs(namespaces)]
#[tokio::test]
async fn a_chat_with_a_running_command_keeps_its_namespaces() {
    let (test, spawner) = registry();
    let running = test.start("mkfifo go; echo > ready; read x < go").await;
    test.written("ready").await;
    test.run("true").await;
    let before = of_chats(spawner.pid());
    assert_eq!(before.len(), 1);
    test.registry.tidy_up().await;
    assert_eq!(of_chats(spawner.pid()), before);
    test.run("echo > go").await;
    finished(&running).await;
    rest(&test, &spawner).await;
}

/// Shared memory ends with the namespaces.
#[needs(namespaces)]
#[tokio::test]
async fn a_chat_with_shared_memory_keeps_its_namespaces() {
    let (test, spawner) = registry();
    test.run("echo kept > /dev/shm/kept").await;
    let before = of_chats(spawner.pid());
    until("nothing is left of the command", || {
        (test.registry.live() == 0).then_some(())
    })
    .await;
    for _ in 0..3 {
        test.registry.tidy_up().await;
    }
    assert_eq!(of_chats(spawner.pid()), before);
    let (_, output) = test.output_of("cat /dev/shm/kept; rm /dev/shm/kept").await;
    assert_eq!(output, "kept\n");
    rest(&test, &spawner).await;
}
