//! Agents that connect, and lose their connection.

use super::*;

#[tokio::test]
async fn an_agent_that_is_killed_comes_back_under_its_name() {
    let gateway = elsewhere::Gateway::start().await;
    let root = tempfile::tempdir().unwrap();
    let first = gateway.connect("agent", root.path(), &[]);
    let workspace = gateway.open("agent").await;
    let keyed = Command {
        key: Some("key".into()),
        ..command(COUNTED)
    };
    let started = workspace
        .start(Some(&chat("a")), keyed.clone())
        .await
        .unwrap();
    file(&root.path().join("runs")).await;
    let pid = nix::unistd::Pid::from_raw(i32::try_from(first).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    gateway.ended(first);
    gateway.connect("agent", root.path(), &[]);
    // The same state directory: the key holds.
    let begun = std::time::Instant::now();
    let again = loop {
        match workspace.start(Some(&chat("a")), keyed.clone()).await {
            Ok(again) => break again,
            Err(Error::Unavailable(reason)) => assert!(begun.elapsed() < PATIENCE, "{reason}"),
            Err(error) => panic!("{error:?}"),
        }
    };
    assert_eq!((again.id, again.is_new), (started.id, false));
    assert_eq!(runs(root.path()), 1);
}

#[tokio::test]
async fn an_agent_that_connects_anew_takes_the_place_of_its_dead_connection() {
    let gateway = elsewhere::Gateway::start().await;
    let proxy = Proxy::to(&gateway.server.url).await;
    let root = tempfile::tempdir().unwrap();
    gateway.connect_over(&proxy.url, "agent", root.path(), &[]);
    let workspace = gateway.open("agent").await;
    let start = async || workspace.start(Some(&chat("a")), command("true")).await;
    start().await.unwrap();
    for _ in 0..3 {
        proxy.cut();
        let begun = std::time::Instant::now();
        loop {
            match start().await {
                Ok(_) => break,
                Err(Error::Unavailable(_) | Error::UnknownOutcome(_)) => {
                    assert!(begun.elapsed() < PATIENCE);
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}
