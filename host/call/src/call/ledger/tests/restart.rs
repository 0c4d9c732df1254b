//! A ledger that follows another one in its state directory.

use super::*;
use crate::call::Durability;
use crate::tool::{ErrorKind, ToolError};
use toolhost_state::state_dir::StateDir;

struct Deaf;

impl Listener for Deaf {
    fn begun(&self, _: &Request) {}
    fn ended(&self, _: &ChatId, _: &Outcome) {}
}

pub(super) fn open(
    state: &StateDir,
    limits: Limits,
    durability: Durability,
) -> (Ledger, Vec<Interrupted>) {
    let kept = Some((state, durability));
    Ledger::open(limits, kept, Box::new(Deaf), CancellationToken::new()).unwrap()
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
    let admit = |_| {
        Ok(Admitted {
            execution: async move { outcome },
            read_only,
        })
    };
    ledger.run(request, admit).await
}

/// Begins a call that never ends.
pub(super) async fn hang(ledger: &Ledger, request: &Arc<Request>) {
    let (begun, runs) = oneshot::channel();
    let mut calling = Box::pin(ledger.run(request, |_| {
        admitted::<_, Refused>(async move {
            begun.send(()).unwrap();
            std::future::pending().await
        })
    }));
    assert!(futures_util::poll!(calling.as_mut()).is_pending());
    runs.await.unwrap();
}

#[tokio::test]
async fn what_ended_is_known_byte_for_byte_and_what_ran_is_interrupted() {
    for durability in [Durability::Host, Durability::Power] {
        let (_base, state) = directory();
        let of = |id: &str| Arc::new(request("a", id, "{}"));
        let (ledger, interrupted) = open(&state, Limits::default(), durability);
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
        std::mem::forget(ledger);

        for _ in 0..2 {
            let (ledger, interrupted) = open(&state, Limits::default(), durability);
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
async fn rewriting_keeps_what_is_kept_and_tombstones_the_rest() {
    let (_base, state) = directory();
    let limits = Limits {
        keep: Duration::ZERO,
        keep_per_chat: 2,
        ..Limits::default()
    };
    let of = |id: &str| Arc::new(request("a", id, "{}"));
    let (ledger, _) = open(&state, limits.clone(), Durability::Host);
    for id in ["1", "2", "3", "4"] {
        call(&ledger, &of(id), false, &"x".repeat(1000))
            .await
            .unwrap();
    }
    drop(ledger);
    let (ledger, _) = open(&state, limits.clone(), Durability::Host);
    drop(ledger);
    let size = state.read("calls.jsonl", u64::MAX).unwrap().unwrap().len();
    assert!((2000..3900).contains(&size), "{size} bytes");
    let (ledger, _) = open(&state, limits, Durability::Host);
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
async fn a_ledger_that_cannot_be_written_runs_calls_unless_they_must_survive_all() {
    for (durability, runs) in [(Durability::Host, true), (Durability::Power, false)] {
        let (_base, state) = directory();
        let (ledger, _) = open(&state, Limits::default(), durability);
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        ledger.shared.journal.replace_file(Some(full));
        let request = Arc::new(request("a", "1", "{}"));
        let called = call(&ledger, &request, false, "ran").await;
        assert_eq!(called.is_ok(), runs, "{called:?}");
        if let Err(refused) = called {
            assert!(matches!(refused, Refused::Unrecorded(_)), "{refused}");
            assert!(ledger.status(&request.chat, &request.id).is_none());
        }
    }
}

#[tokio::test]
async fn lines_that_make_no_sense_are_skipped() {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Host);
    let known = Arc::new(request("a", "1", "{}"));
    call(&ledger, &known, false, "x").await.unwrap();
    drop(ledger);
    let mut text = state.read("calls.jsonl", u64::MAX).unwrap().unwrap();
    for line in [
        "{\"started\":{\"chat\":\"a b\",\"call\":\"x\",\"tool\":\"t\",\"digest\":\"\",\"at\":0}}",
        "{\"started\":{\"chat\":\"a\",\"call\":\"x\",\"tool\":\"t\",\"digest\":\"zz\",\"at\":18446744073709551615}}",
        "{\"ended\":{\"chat\":\"a\",\"call\":\"y\",\"digest\":\"00\",\"at\":1,\"outcome\":{}}}",
        "{\"cancelled\":{}}",
        "{\"later\":1}",
        "\u{0}\u{0}",
        "{\"ended\":{\"chat\":\"a\",\"call\"",
    ] {
        text.extend(line.as_bytes());
        text.push(b'\n');
    }
    state.write("calls.jsonl", &text).unwrap();
    let (ledger, interrupted) = open(&state, Limits::default(), Durability::Host);
    assert!(interrupted.is_empty(), "{interrupted:?}");
    let again = call(&ledger, &known, false, "again").await.unwrap();
    assert_eq!(again.id, known.id);
}
