//! Events.

use super::*;

use std::sync::Mutex;

use tokio::sync::Notify;
use toolhost_workspace::process::{ProcessEvent, Subject, Subscriber};

#[derive(Debug, Default)]
struct Seen {
    /// Each event in a word.
    events: Mutex<Vec<String>>,
    changed: Notify,
}

impl Subscriber for Seen {
    fn event(&self, process: Subject<'_>, event: ProcessEvent<'_>) {
        let word = match event {
            ProcessEvent::Started { command, .. } => format!("started {command}"),
            ProcessEvent::Output { offset, length } => format!("output {offset} {length}"),
            ProcessEvent::Changed { state, total } => {
                format!("changed {} {total}", state.is_live())
            }
        };
        let chat = process.chat.map(ToString::to_string);
        self.events.lock().unwrap().push(format!("{chat:?} {word}"));
        self.changed.notify_one();
    }
}

impl Seen {
    async fn until(&self, what: &str) -> Vec<String> {
        let seen = async {
            loop {
                let events = self.events.lock().unwrap().clone();
                if events.iter().any(|event| event.contains(what)) {
                    return events;
                }
                self.changed.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.expect(what)
    }
}

#[tokio::test]
async fn events_come_in_order_and_once() {
    let place = Place::new().await;
    let seen = Arc::new(Seen::default());
    let subscriber: Arc<dyn Subscriber> = seen.clone();
    place.workspace.subscribe(Arc::downgrade(&subscriber));
    let id = place.start("echo one; sleep 1000").await;
    seen.until("output 0 4").await;
    place.workspace.end(Some(&chat("a")), &id).await.unwrap();
    let events = seen.until("changed false").await;
    let first = &events[0];
    assert!(
        first.contains("\"a\"") && first.contains("started echo one"),
        "{events:?}"
    );
    assert!(
        events.last().unwrap().contains("changed false"),
        "{events:?}"
    );
    let outputs = events
        .iter()
        .filter(|event| event.contains("output 0 "))
        .count();
    assert_eq!(outputs, 1, "{events:?}");
}

/// A caller that is told that a process has ended finds its events passed on.
#[tokio::test]
async fn the_events_of_an_end_come_before_its_answer() {
    let place = Place::new().await;
    let seen = Arc::new(Seen::default());
    let subscriber: Arc<dyn Subscriber> = seen.clone();
    place.workspace.subscribe(Arc::downgrade(&subscriber));
    // From here on, there is a stream.
    let first = place.start("true").await;
    place.ended(&first).await;
    seen.until("changed false").await;
    for _ in 0..20 {
        seen.events.lock().unwrap().clear();
        let id = place.start("sleep 1000").await;
        place.workspace.end(Some(&chat("a")), &id).await.unwrap();
        let events = seen.events.lock().unwrap().clone();
        assert!(
            events.iter().any(|event| event.contains("changed false")),
            "{events:?}"
        );
    }
}
