//! Events through cuts: each once, and none lost.

use super::*;

use std::collections::BTreeMap;
use std::sync::Mutex;

use toolhost_workspace::process::{ProcessEvent, Subject, Subscriber};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    started: usize,
    ended: usize,
    /// How many bytes of output were told.
    total: u64,
}

#[derive(Debug, Default)]
struct Seen(Mutex<BTreeMap<String, Told>>);

impl Subscriber for Seen {
    fn event(&self, process: Subject<'_>, event: ProcessEvent<'_>) {
        let mut all = self.0.lock().unwrap();
        let told = all.entry(process.id.to_owned()).or_default();
        match event {
            ProcessEvent::Started { .. } => told.started += 1,
            ProcessEvent::Output { offset, length } => {
                assert_eq!((offset, told.started, told.ended), (told.total, 1, 0));
                told.total += length;
            }
            ProcessEvent::Changed { state, total } => {
                assert_eq!(total, told.total, "its output was told before");
                told.ended += usize::from(!state.is_live());
            }
        }
    }
}

/// Subscribes to the events of a workspace.
fn follow(workspace: &dyn Workspace) -> Arc<Seen> {
    let seen = Arc::new(Seen::default());
    let subscriber: Arc<dyn Subscriber> = seen.clone();
    workspace.subscribe(Arc::downgrade(&subscriber));
    seen
}

/// Waits until the end of each process was told, and checks that everything was told once.
async fn check(seen: &Seen, expected: &BTreeMap<String, u64>) {
    until("all ends are told", || {
        let told = seen.0.lock().unwrap();
        let is_told = |id: &String| told.get(id).is_some_and(|told| told.ended > 0);
        expected.keys().all(is_told).then_some(())
    })
    .await;
    let told = seen.0.lock().unwrap().clone();
    for (id, &total) in expected {
        let once = Told {
            started: 1,
            ended: 1,
            total,
        };
        assert_eq!(told[id], once, "{id}");
    }
    assert_eq!(told.len(), expected.len());
}

#[tokio::test]
async fn each_event_is_told_once_while_connections_are_cut() {
    let far = Far::new().await;
    let seen = follow(&*far.workspace);
    let mut expected = BTreeMap::new();
    let mut long = Vec::new();
    for number in 0..60 {
        if number % 3 == 0 {
            far.proxy.cut();
        }
        match number % 2 {
            0 => {
                let id = far.start("echo one; echo two").await;
                far.ended(&id).await;
                expected.insert(id, 8);
            }
            _ => long.push(
                far.start("for i in 1 2 3 4 5; do echo $i; sleep 0.01; done")
                    .await,
            ),
        }
    }
    for id in long {
        far.ended(&id).await;
        expected.insert(id, 10);
    }
    check(&seen, &expected).await;
}

/// A process that starts and ends while no stream tells of it.
#[tokio::test]
async fn a_life_between_two_streams_is_told() {
    let far = Far::new().await;
    let seen = follow(&*far.workspace);
    let first = far.start("echo").await;
    far.ended(&first).await;
    check(&seen, &[(first.clone(), 1)].into()).await;
    // No stream is opened, and other requests are answered.
    for _ in 0..5 {
        far.proxy.inject("/events ", Fault::Before);
    }
    far.proxy.cut();
    far.proxy.hit(1).await;
    let second = far.start("echo short").await;
    far.ended(&second).await;
    far.proxy.hit(5).await;
    check(&seen, &[(first, 1), (second, 6)].into()).await;
}

/// A stream that stays open without a line is replaced.
#[tokio::test]
async fn a_silent_stream_is_replaced() {
    let timing = Timing {
        silence: Duration::from_secs(1),
        ..quick()
    };
    let far = Far::with(timing).await;
    let seen = follow(&*far.workspace);
    let first = far.start("echo").await;
    far.ended(&first).await;
    check(&seen, &[(first.clone(), 1)].into()).await;
    far.proxy.freeze();
    let second = far.start("echo short").await;
    far.ended(&second).await;
    check(&seen, &[(first, 1), (second, 6)].into()).await;
}

#[tokio::test]
async fn what_was_before_the_host_is_not_told() {
    let root = tempfile::tempdir().unwrap();
    let local = elsewhere::local(root.path()).await;
    let server = Server::agent(elsewhere::offer(local)).await;
    let place = async || Place {
        workspace: open(&server.url, patient()).await.unwrap(),
        root: tempfile::tempdir().unwrap(),
        _agent: None,
    };
    let earlier = place().await;
    let (old, live) = (
        earlier.start("echo old").await,
        earlier.start("echo; exec sleep 1000").await,
    );
    earlier.ended(&old).await;
    let output = WaitOptions {
        output: true,
        ..WaitOptions::default()
    };
    earlier.wait(&live, output).await.unwrap();
    let later = place().await;
    let seen = follow(&*later.workspace);
    later.workspace.end(Some(&chat("a")), &live).await.unwrap();
    check(&seen, &[(live, 1)].into()).await;
}
