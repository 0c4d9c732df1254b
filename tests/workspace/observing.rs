//! The use of processes, and the last line of their output.

use super::*;

use toolhost_workspace::process::{Observation, ProcessName, Usage};

fn name(owner: Option<&str>, id: &str) -> ProcessName {
    ProcessName {
        owner: owner.map(chat),
        id: id.into(),
    }
}

/// Observes one process of the chat `a`.
async fn observe(place: &Place, id: &str) -> Observation {
    let name = name(Some("a"), id);
    let observed = place.workspace.observe(vec![name.clone()]).await.unwrap();
    let [observation] = &*observed else {
        panic!("{observed:?}");
    };
    assert_eq!(observation.process, name);
    observation.clone()
}

/// Observes until its use is like this, which it becomes by itself.
async fn used(place: &Place, id: &str, like: impl Fn(&Usage) -> bool) -> Observation {
    let waiting = async {
        loop {
            let observation = observe(place, id).await;
            if observation.usage.as_ref().is_some_and(&like) {
                return observation;
            }
            crate::harness::a_moment().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap()
}

#[tokio::test]
async fn the_use_of_a_tree_and_its_last_line() {
    let place = Place::new().await;
    // The shell, two that sleep, one of them behind a process that has ended, and one that computes.
    let id = place
        .start(
            "sleep 1000 & (sleep 1000 &) ; echo one; printf ' 10 %%\\r 20 %%'; while :; do :; done",
        )
        .await;
    let running = used(&place, &id, |usage| {
        usage.processes >= 3 && usage.cpu > Duration::from_millis(50)
    })
    .await;
    let usage = running.usage.unwrap();
    assert!(usage.memory > 100 << 10, "{usage:?}");
    assert!(usage.processes < 10, "{usage:?}");
    let later = used(&place, &id, |later| later.cpu > usage.cpu).await;
    assert_eq!(later.last_line.as_deref(), Some("20 %"));
    let killed = place
        .workspace
        .signal(Some(&chat("a")), &id, Signal::Kill, None)
        .await;
    assert_eq!(killed.unwrap(), State::Running);
    place.ended(&id).await;
    let ended = observe(&place, &id).await;
    assert_eq!(
        (ended.usage, ended.last_line.as_deref()),
        (None, Some("20 %"))
    );
}

#[tokio::test]
async fn the_time_of_processes_that_ended_counts() {
    let place = Place::new().await;
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    // A child of the shell, and one whose parent has ended, for which the shell does not wait.
    let id = place
        .start(&format!(
            "sh -c '{busy}'; (sh -c '{busy}; echo $$ > orphan' &); exec sleep 1000"
        ))
        .await;
    let orphan = place.pid("orphan").await;
    until_dead(orphan).await;
    let observation = used(&place, &id, |usage| usage.processes == 1).await;
    let usage = observation.usage.unwrap();
    assert!(usage.cpu > Duration::from_millis(20), "{usage:?}");
}

/// One supervisor waits for the processes of both.
#[tokio::test]
async fn the_time_of_an_earlier_command_does_not_count() {
    let place = Place::new().await;
    let busy = "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done";
    let earlier = place.start(busy).await;
    place.ended(&earlier).await;
    let id = place.start("exec sleep 1000").await;
    let observation = used(&place, &id, |usage| usage.processes == 1).await;
    let usage = observation.usage.unwrap();
    assert!(usage.cpu < Duration::from_millis(100), "{usage:?}");
}

#[tokio::test]
async fn what_is_not_there_is_left_out() {
    let place = Place::new().await;
    let id = place.start("true").await;
    place.ended(&id).await;
    let asked = vec![
        name(Some("b"), &id),
        name(None, &id),
        name(Some("a"), "nothing"),
        name(Some("a"), &id),
    ];
    let observed = place.workspace.observe(asked).await.unwrap();
    let silent = Observation {
        process: name(Some("a"), &id),
        usage: None,
        last_line: None,
    };
    assert_eq!(observed, [silent]);
    assert_eq!(place.workspace.observe(Vec::new()).await, Ok(Vec::new()));
}
