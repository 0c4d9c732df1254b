//! Starts whose connection is cut.

use super::*;

const CUTS: [Fault; 4] = [
    Fault::Before,
    Fault::During,
    Fault::After,
    Fault::Inside(40),
];

#[tokio::test]
async fn a_start_with_a_key_runs_once_however_it_is_cut() {
    let far = Far::new().await;
    for (number, fault) in CUTS.into_iter().cycle().take(12).enumerate() {
        // Several attempts are cut, each in its own way.
        for other in 0..=number / CUTS.len() {
            let fault = CUTS[(number + other) % CUTS.len()];
            far.proxy.inject("/start ", fault);
        }
        let started = far.start_counted(Some(&format!("key {number}"))).await;
        started.unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
        assert_eq!(far.runs().await, number + 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_start_without_a_key_runs_once_however_it_is_cut() {
    let far = Far::new().await;
    for (number, fault) in CUTS.into_iter().cycle().take(12).enumerate() {
        for _ in 0..=number / CUTS.len() {
            far.proxy.inject("/start ", fault);
        }
        let (_, is_new) = far.start_counted(None).await.unwrap();
        assert!(is_new, "{fault:?}: the first answer is repeated");
        assert_eq!(far.runs().await, number + 1, "{fault:?}");
    }
}

#[tokio::test]
async fn many_starts_at_once_run_once_each_while_all_connections_are_cut() {
    // Fewer than a chat may have at once: none of them may have ended when the last one starts.
    const STARTS: usize = 30;
    let far = Far::new().await;
    let starting = futures_util::future::join_all((0..STARTS).map(async |number| {
        let key = (number % 2 == 0).then(|| format!("key {number}"));
        far.start_counted(key.as_deref()).await.unwrap().0
    }));
    let cutting = async {
        for _ in 0..20 {
            let made = far.proxy.connections();
            far.proxy.cut();
            // The next cut comes when somebody has connected again.
            let reconnected = until("there is a connection", || {
                (far.proxy.connections() > made).then_some(())
            });
            reconnected.await;
        }
    };
    // When all have started, there may be nobody left who connects.
    let started = tokio::select! {
        started = starting => started,
        () = async { cutting.await; std::future::pending().await } => unreachable!(),
    };
    let ids: std::collections::BTreeSet<_> = started.iter().collect();
    assert_eq!(ids.len(), STARTS);
    assert_eq!(far.runs().await, STARTS);
}

#[tokio::test]
async fn an_agent_at_another_address_does_the_rest() {
    let far = Far::new().await;
    far.start_counted(Some("before")).await.unwrap();
    let root = tempfile::tempdir().unwrap();
    let local = elsewhere::local(root.path()).await;
    let other = Server::agent(elsewhere::offer(local)).await;
    // The request arrives, the answer is lost, and then another agent has the address.
    far.proxy.inject_last("/start ", Fault::After);
    let starting = far.start_counted(Some("during"));
    let moving = async {
        far.proxy.hit(1).await;
        far.proxy.cut();
        far.proxy.retarget(&other.url);
        far.proxy.accept().await;
    };
    let (started, ()) = tokio::join!(starting, moving);
    assert!(
        matches!(started, Err(Error::UnknownOutcome(_))),
        "{started:?}"
    );
    // One that no agent has seen yet goes to the new one.
    far.start_counted(Some("after")).await.unwrap();
    far.runs().await;
    assert_eq!(runs(root.path()), 1);
    until("the other ran", || {
        (runs(far.root.path()) == 2).then_some(())
    })
    .await;
}
