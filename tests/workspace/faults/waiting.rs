//! Waits, and connections that are dead without an end.

use super::*;

/// A command that ends when a test writes to `go`.
async fn waiting(far: &Far) -> String {
    let path = far.root.path().join("go");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    far.start("read line < go; echo $line").await
}

async fn go(far: &Far) {
    let path = far.root.path().join("go");
    tokio::fs::write(path, "gone\n").await.unwrap();
}

#[tokio::test]
async fn a_wait_goes_on_over_the_next_connection() {
    let far = Far::new().await;
    let id = waiting(&far).await;
    for fault in [Fault::Before, Fault::During, Fault::During] {
        far.proxy.inject("/wait ", fault);
    }
    let releasing = async {
        far.proxy.hit(3).await;
        far.proxy.cut();
        go(&far).await;
    };
    let (waited, ()) = tokio::join!(far.wait(&id, WaitOptions::default()), releasing);
    assert_eq!(waited.unwrap().wake, Wake::Ended);
}

#[tokio::test]
async fn a_dead_connection_is_noticed_while_a_wait_is_on_it() {
    for fault in [Fault::Silent, Fault::Mute] {
        let far = Far::with(quick()).await;
        let id = waiting(&far).await;
        far.proxy.inject("/wait ", fault);
        let releasing = async {
            far.proxy.hit(1).await;
            go(&far).await;
        };
        let (waited, ()) = tokio::join!(far.wait(&id, WaitOptions::default()), releasing);
        assert_eq!(waited.unwrap().wake, Wake::Ended, "{fault:?}");
    }
}

/// Many idle connections die at once, as when a firewall forgets them.
#[tokio::test]
async fn a_dead_connection_costs_one_attempt_and_not_one_for_each_idle_one() {
    let far = Far::with(quick()).await;
    let ids: Vec<_> = futures_util::future::join_all((0..8).map(|_| far.start("sleep 0.2"))).await;
    futures_util::future::join_all(ids.iter().map(|id| far.ended(id))).await;
    far.proxy.freeze();
    let (id, is_new) = far.start_counted(Some("key")).await.unwrap();
    assert!(is_new);
    far.ended(&id).await;
    far.workspace
        .write_files(Vec::new(), Arc::default())
        .await
        .unwrap();
    assert_eq!(far.runs().await, 1);
}

#[tokio::test]
async fn what_acts_is_done_once_over_dead_connections() {
    let far = Far::with(quick()).await;
    for (number, fault) in [Fault::Silent, Fault::Mute, Fault::Mute]
        .into_iter()
        .enumerate()
    {
        far.proxy.inject("/start ", fault);
        far.start_counted(None).await.unwrap();
        assert_eq!(far.runs().await, number + 1, "{fault:?}");
    }
}

#[tokio::test]
async fn everybody_gets_an_answer_from_an_agent_that_is_silent() {
    let timing = Timing {
        answer: Duration::from_millis(200),
        patience: Duration::from_secs(1),
        ..quick()
    };
    // The open must not fail on a slow machine.
    let far = Far::new().await;
    let workspace = loop {
        if let Ok(workspace) = open(&far.proxy.url, timing).await {
            break workspace;
        }
    };
    let owner = chat("a");
    let (id, _) = far.start_for("a", command("sleep 1000")).await.unwrap();
    far.proxy.freeze_all();
    let info = workspace.info(Some(&owner), &id);
    let wait = workspace.wait(Some(&owner), &id, WaitOptions::default());
    let start = workspace.start(Some(&owner), command(COUNTED));
    let all = async { tokio::join!(info, wait, start) };
    let (info, wait, start) = tokio::time::timeout(PATIENCE, all).await.unwrap();
    assert!(matches!(info, Err(Error::Unavailable(_))), "{info:?}");
    assert!(matches!(wait, Err(Error::Unavailable(_))), "{wait:?}");
    assert!(matches!(start, Err(Error::UnknownOutcome(_))), "{start:?}");
    far.proxy.thaw();
    far.workspace.end(Some(&owner), &id).await.unwrap();
    assert!(far.runs().await <= 1);
}

#[tokio::test]
async fn a_slow_network_is_no_dead_one() {
    let far = Far::with(quick()).await;
    far.proxy.delay(Duration::from_millis(200));
    for number in 0..3 {
        // An answer takes longer than the first attempt waits for it.
        far.start_counted(None).await.unwrap();
        far.start_counted(Some(&format!("key {number}")))
            .await
            .unwrap();
    }
    assert_eq!(far.runs().await, 6);
}

#[tokio::test]
async fn failures_do_not_make_a_wait_longer() {
    let timing = Timing {
        round: PATIENCE,
        ..quick()
    };
    let far = Far::with(timing).await;
    let id = waiting(&far).await;
    for _ in 0..3 {
        far.proxy.inject("/wait ", Fault::Mute);
    }
    let options = WaitOptions {
        timeout: Duration::from_secs(1),
        ..WaitOptions::default()
    };
    let waited = far.workspace.wait(Some(&chat("a")), &id, options).await;
    assert_eq!(waited.unwrap().wake, Wake::TimedOut);
    go(&far).await;
    far.ended(&id).await;
}
