//! Tests with a connection that is busy.

use std::sync::mpsc::channel;

use futures_util::poll;

use super::*;
use crate::{Begun, NewCall, Process, ProcessState, Store};

/// Returns a process that runs.
pub(super) fn process(id: &str) -> Process {
    Process {
        id: id.into(),
        chat: None,
        key: None,
        state: ProcessState::Running,
        command: "sleep 1".into(),
        workdir: "/".into(),
        background: false,
        started_ms: 0,
        output: None,
        end: None,
    }
}

pub(super) fn new_call(call: &str, arguments: usize) -> NewCall {
    NewCall {
        chat: "c".parse().unwrap(),
        call: call.parse().unwrap(),
        tool: "execute".into(),
        principal: "token".into(),
        digest: [1; 32],
        arguments: Some("x".repeat(arguments)),
        began_ms: 0,
    }
}

/// The connection is busy for long while the log is emptied. The tasks of the other calls share the threads with the task that waits.
#[tokio::test]
async fn no_task_blocks_its_thread_while_the_connection_is_busy() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    let store = Sqlite::open(&directory, Durability::Host).unwrap();
    let (held, is_held) = channel();
    let (release, released) = channel::<()>();
    let writer = Arc::clone(&store.shared.writer);
    let holder = std::thread::spawn(move || {
        writer.alone(|_| {
            held.send(()).unwrap();
            // A thread that waits for the connection would never release it.
            released.recv_timeout(PATIENCE)
        })
    });
    is_held.recv().unwrap();
    let large = staging::FULL + 1;
    let begun = store.begin(new_call("large", large)).await.unwrap();
    assert_eq!(begun, Begun::New);
    // So much is staged that the next change waits for the connection.
    let mut next = store.begin(new_call("next", 1));
    let is_pending = poll!(&mut next).is_pending();
    let mut found = store.call("c".parse().unwrap(), "large".parse().unwrap());
    let is_found = poll!(&mut found).is_ready();
    _ = release.send(());
    let released = holder.join().unwrap();
    assert!(released.is_ok(), "a task blocked its thread");
    assert!(is_pending && !is_found);
    assert_eq!(next.await.unwrap(), Begun::New);
    assert_eq!(found.await.unwrap().unwrap().number, 1);
}
