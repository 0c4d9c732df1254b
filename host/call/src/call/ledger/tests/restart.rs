//! A ledger that follows another one in its state directory.

use super::failing::Failing;
use super::*;
use crate::call::Durability;
use crate::tool::{ErrorKind, ToolError};
use toolhost_state::state_dir::StateDir;

struct Deaf;

impl Listener for Deaf {
    fn begun(&self, _: &Request) {}
    fn ended(&self, _: &ChatId, _: &Outcome) {}
    fn turned_away(&self, _: &Request) {}
}

pub(super) async fn open(
    state: &StateDir,
    limits: Limits,
    durability: Durability,
) -> (Ledger, Vec<Interrupted>) {
    let store = Arc::new(Sqlite::open(state, durability).unwrap());
    let (kept, deaf) = ((store as _, durability), Some(Box::new(Deaf) as _));
    Ledger::open(limits, kept, deaf, CancellationToken::new())
        .await
        .unwrap()
}

/// Opens a ledger on a store that fails when it is told to.
pub(super) async fn open_failing(
    state: &StateDir,
    durability: Durability,
) -> (Ledger, Arc<Failing>) {
    let store = Arc::new(Failing::of(Sqlite::open(state, durability).unwrap()));
    let kept = (Arc::clone(&store) as Arc<dyn Store>, durability);
    let limits = Limits {
        arguments: 100,
        ..Limits::default()
    };
    let opened = Ledger::open(limits, kept, None, CancellationToken::new());
    (opened.await.unwrap().0, store)
}

pub(super) fn directory() -> (tempfile::TempDir, StateDir) {
    let base = tempfile::tempdir().unwrap();
    let state = StateDir::open(&base.path().join("state")).unwrap();
    (base, state)
}

/// Calls with an outcome that names its own call, as those of a host do.
pub(super) async fn call(
    ledger: &Ledger,
    request: &Arc<Request>,
    read_only: bool,
    text: &str,
) -> Result<Arc<Outcome>, Refused> {
    let outcome = Outcome {
        id: request.id.clone(),
        duration: Duration::from_micros(1_999),
        ..outcome(text)
    };
    let admit = |_: &Permit| {
        Ok(Admitted {
            execution: async move { Ok(outcome) },
            read_only,
            resumable: false,
        })
    };
    ledger.run_once(request, admit).await
}

/// Leaves a ledger as a killed host does: without a word at its end. It changes no file any more.
pub(super) async fn kill(ledger: Ledger) {
    until_swept(&ledger).await;
    std::mem::forget(ledger);
}

/// Drops a ledger whose calls have ended, and closes its store.
pub(super) async fn close(ledger: Ledger) {
    until_swept(&ledger).await;
    drop(ledger);
}

/// Waits for the end of a sweep that the ledger began by itself: it would change the files of the next ledger.
async fn until_swept(ledger: &Ledger) {
    // The task of the sweep runs on this thread, and has the lock when it yields.
    tokio::task::yield_now().await;
    drop(ledger.shared.sweeper.sweeping.lock().await);
}

/// Begins a call that never ends.
pub(super) async fn hang(ledger: &Ledger, request: &Arc<Request>) {
    hang_as(ledger, request, false).await;
}

/// Begins a call that never ends, and that may run again if it is `resumable`.
pub(super) async fn hang_as(ledger: &Ledger, request: &Arc<Request>, resumable: bool) {
    let (begun, runs) = oneshot::channel();
    let calling = ledger.run_once(request, |_| {
        Ok::<_, Refused>(Admitted {
            execution: async move {
                begun.send(()).unwrap();
                std::future::pending().await
            },
            read_only: false,
            resumable,
        })
    });
    tokio::select! {
        ended = calling => panic!("{ended:?}"),
        begun = runs => begun.unwrap(),
    }
}

#[tokio::test]
async fn what_ended_is_known_byte_for_byte_and_what_ran_is_interrupted() {
    for durability in [Durability::Host, Durability::Power] {
        let (_base, state) = directory();
        let of = |id: &str| Arc::new(request("a", id, "{}"));
        let (ledger, interrupted) = open(&state, Limits::default(), durability).await;
        assert!(interrupted.is_empty());
        let ended = call(&ledger, &of("ended"), false, "ä\u{0}\n")
            .await
            .unwrap();
        let read = call(&ledger, &of("read"), true, "read").await.unwrap();
        call(&ledger, &of("cancelled"), false, "x").await.unwrap();
        ledger
            .cancel(&of("cancelled").chat, &of("cancelled").id, &anyone())
            .await
            .unwrap();
        ledger
            .cancel(&of("tombstone").chat, &of("tombstone").id, &anyone())
            .await
            .unwrap();
        hang(&ledger, &of("running")).await;
        // As a killed host does, it says nothing at its end.
        kill(ledger).await;

        for _ in 0..2 {
            let (ledger, interrupted) = open(&state, Limits::default(), durability).await;
            let bytes = |outcome: &Outcome| serde_json::to_vec(outcome).unwrap();
            for (id, saved) in [("ended", &ended), ("read", &read)] {
                let again = call(&ledger, &of(id), false, "again").await.unwrap();
                assert_eq!(bytes(&again), bytes(saved), "{id}");
            }
            for id in ["cancelled", "tombstone"] {
                let again = call(&ledger, &of(id), false, "again").await;
                assert_eq!(again.unwrap_err(), Refused::Cancelled, "{id}");
            }
            let other = Arc::new(request("a", "ended", "{\"x\":1}"));
            let mismatch = call(&ledger, &other, false, "again").await;
            assert_eq!(mismatch.unwrap_err(), Refused::InputMismatch);
            if let [running] = interrupted.as_slice() {
                assert_eq!(
                    (running.call.as_str(), running.tool.as_str()),
                    ("running", "t")
                );
                let unknown = Outcome {
                    id: running.call.clone(),
                    result: Err(ToolError::new(ErrorKind::UnknownOutcome, "unknown")),
                    ..outcome("")
                };
                ledger.settle(running, unknown).await;
            }
            let again = call(&ledger, &of("running"), false, "again").await.unwrap();
            assert_eq!(again.state(), crate::call::State::Unknown);
        }
    }
}

#[tokio::test]
async fn the_next_host_keeps_what_is_kept_and_remembers_the_rest() {
    let (_base, state) = directory();
    let limits = Limits {
        keep: Duration::ZERO,
        keep_per_chat: 2,
        ..Limits::default()
    };
    let of = |id: &str| Arc::new(request("a", id, "{}"));
    let (ledger, _) = open(&state, limits.clone(), Durability::Host).await;
    for id in ["1", "2", "3", "4"] {
        call(&ledger, &of(id), false, &"x".repeat(1000))
            .await
            .unwrap();
    }
    close(ledger).await;
    let (ledger, _) = open(&state, limits.clone(), Durability::Host).await;
    ledger.shared.sweep_now().await;
    let kept = ledger.shared.sweeper.kept();
    assert_eq!((kept.outcomes, kept.ids), (2, 2));
    assert!((2000..3900).contains(&kept.bytes), "{kept:?}");
    close(ledger).await;
    let (ledger, _) = open(&state, limits, Durability::Host).await;
    for (id, kept) in [("1", false), ("2", false), ("3", true), ("4", true)] {
        let again = call(&ledger, &of(id), false, "again").await;
        assert_eq!(
            again.map_or_else(|error| error == Refused::Gone, |_| false),
            !kept,
            "{id}"
        );
    }
}

#[tokio::test]
async fn a_call_whose_record_is_damaged_is_unknown_and_does_not_run_again() {
    let (_base, state) = directory();
    let of = |id: &str| Arc::new(request("a", id, "{}"));
    let (ledger, _) = open(&state, Limits::default(), Durability::Host).await;
    for id in ["torn", "lost", "sound"] {
        call(&ledger, &of(id), false, id).await.unwrap();
    }
    kill(ledger).await;
    let database = rusqlite::Connection::open(state.path().join("store.db")).unwrap();
    let damage = "UPDATE calls SET state = 3 WHERE call = 'torn'; UPDATE calls SET call = 'x' WHERE call = 'lost'";
    database.execute_batch(damage).unwrap();
    drop(database);
    let (ledger, _) = open(&state, Limits::default(), Durability::Host).await;
    for id in ["torn", "lost"] {
        for read_only in [false, true] {
            let again = call(&ledger, &of(id), read_only, "again").await.unwrap();
            assert_eq!(again.state(), crate::call::State::Unknown, "{id}");
            let json = serde_json::to_string(&*again).unwrap();
            assert!(json.contains("is damaged"), "{json}");
        }
        let status = ledger.status(&of(id).chat, &of(id).id).await.unwrap();
        assert!(matches!(status, Some(CallStatus::Ended(_))), "{status:?}");
    }
    let again = call(&ledger, &of("sound"), false, "again").await.unwrap();
    assert_eq!(again.state(), crate::call::State::Finished);
}
