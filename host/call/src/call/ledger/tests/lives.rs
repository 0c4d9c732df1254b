//! Ids that are used again after they were forgotten, ends that could not be written down, and calls that end too early.

use super::restart::{call, directory, hang, open};
use super::*;
use crate::call::{Durability, State};

/// Lines of a journal behind its header, with the call of this id.
async fn lines(id: &str, cancel: bool) -> Vec<String> {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Host);
    let request = Arc::new(request("a", id, "{}"));
    if cancel {
        ledger
            .cancel(&request.chat, &request.id, &anyone())
            .await
            .unwrap();
    } else {
        call(&ledger, &request, false, "first").await.unwrap();
    }
    drop(ledger);
    let text = state.read("calls.jsonl", u64::MAX).unwrap().unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_call_of_a_forgotten_id_that_was_interrupted_does_not_run_again() {
    let mut lines = lines("1", false).await;
    assert_eq!(lines.len(), 3, "{lines:?}");
    let started = lines[1].clone();
    lines.push(started);
    let (_base, state) = directory();
    state
        .write("calls.jsonl", (lines.join("\n") + "\n").as_bytes())
        .unwrap();
    // Once more, after the journal was rewritten.
    for _ in 0..2 {
        let (_ledger, interrupted) = open(&state, Limits::default(), Durability::Host);
        assert_eq!(interrupted.len(), 1);
    }
}

#[tokio::test]
async fn a_call_that_ran_after_its_tombstone_was_forgotten_has_its_reply() {
    let mut lines_of_both = lines("1", true).await;
    lines_of_both.extend(lines("1", false).await.into_iter().skip(1));
    let (_base, state) = directory();
    let text = lines_of_both.join("\n") + "\n";
    state.write("calls.jsonl", text.as_bytes()).unwrap();
    let (ledger, _) = open(&state, Limits::default(), Durability::Host);
    let request = Arc::new(request("a", "1", "{}"));
    let again = call(&ledger, &request, false, "again").await.unwrap();
    assert_eq!(again.result.as_ref().unwrap().content.len(), 1);
    assert_eq!(again.state(), State::Finished);
}

#[tokio::test]
async fn an_end_that_could_not_be_written_is_written_later() {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Host);
    let of = |id: &str| Arc::new(request("a", id, "{}"));
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full");
    let (end, ends) = oneshot::channel::<()>();
    let (begun, begins) = oneshot::channel();
    let first = of("1");
    let calling = ledger.run(&first, |_| {
        admitted::<_, Refused>(async move {
            begun.send(()).unwrap();
            ends.await.unwrap();
            Outcome {
                id: "1".parse().unwrap(),
                ..outcome("first")
            }
        })
    });
    let (told, ()) = tokio::join!(calling, async {
        begins.await.unwrap();
        ledger.shared.journal.replace_file(full().ok());
        end.send(()).unwrap();
    });
    told.unwrap();
    ledger.shared.journal.replace_file(None);
    // The next line to be written brings the missing line with it.
    call(&ledger, &of("2"), false, "second").await.unwrap();
    drop(ledger);
    let (ledger, interrupted) = open(&state, Limits::default(), Durability::Host);
    assert!(interrupted.is_empty(), "{interrupted:?}");
    let again = call(&ledger, &of("1"), false, "again").await.unwrap();
    assert_eq!(again.state(), State::Finished);
}

#[tokio::test]
async fn a_start_and_a_tombstone_that_could_not_be_written_are_written_later() {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Host);
    let of = |id: &str| Arc::new(request("a", id, "{}"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    ledger.shared.journal.replace_file(full.ok());
    hang(&ledger, &of("runs")).await;
    let tombstone = of("tombstone");
    let cancelled = ledger
        .cancel(&tombstone.chat, &tombstone.id, &anyone())
        .await
        .unwrap();
    assert!(matches!(cancelled, Cancelled::Tombstone), "{cancelled:?}");
    call(&ledger, &of("ends"), false, "ended").await.unwrap();
    ledger.shared.journal.replace_file(None);
    call(&ledger, &of("later"), false, "later").await.unwrap();
    // The host is killed.
    std::mem::forget(ledger);
    let (ledger, interrupted) = open(&state, Limits::default(), Durability::Host);
    let ids: Vec<_> = interrupted.iter().map(|call| call.call.as_str()).collect();
    assert_eq!(ids, ["runs"]);
    let refused = call(&ledger, &tombstone, false, "ran").await.unwrap_err();
    assert_eq!(refused, Refused::Cancelled);
    for id in ["ends", "later"] {
        let again = call(&ledger, &of(id), false, "again").await.unwrap();
        assert_eq!(again.state(), State::Finished, "{id}");
        let json = serde_json::to_string(&*again).unwrap();
        assert!(!json.contains("again"), "{json}");
    }
}

#[tokio::test]
async fn a_tombstone_is_promised_only_when_it_is_written() {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Power);
    let request = Arc::new(request("a", "1", "{}"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    ledger.shared.journal.replace_file(full.ok());
    for _ in 0..2 {
        let refused = ledger
            .cancel(&request.chat, &request.id, &anyone())
            .await
            .unwrap_err();
        assert!(matches!(refused, Refused::Unrecorded(_)), "{refused}");
    }
    ledger.shared.journal.replace_file(None);
    let cancelled = ledger
        .cancel(&request.chat, &request.id, &anyone())
        .await
        .unwrap();
    assert!(matches!(cancelled, Cancelled::Tombstone), "{cancelled:?}");
    drop(ledger);
    let (ledger, _) = open(&state, Limits::default(), Durability::Power);
    let refused = call(&ledger, &request, false, "ran").await.unwrap_err();
    assert_eq!(refused, Refused::Cancelled);
}

#[tokio::test]
async fn a_call_that_could_not_be_written_runs_when_it_can() {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Power);
    let request = Arc::new(request("a", "1", "{}"));
    // A pipe takes lines, and cannot be synced.
    let (_reader, writer) = nix::unistd::pipe().unwrap();
    ledger.shared.journal.replace_file(Some(writer.into()));
    let refused = call(&ledger, &request, false, "ran").await.unwrap_err();
    assert!(matches!(refused, Refused::Unrecorded(_)), "{refused}");
    ledger.shared.journal.replace_file(None);
    let ran = call(&ledger, &request, false, "ran").await.unwrap();
    assert_eq!(ran.state(), State::Finished);
}

#[tokio::test]
async fn more_tombstones_than_are_remembered_are_refused() {
    let limits = Limits {
        tombstones_per_chat: 2,
        ..Limits::default()
    };
    let ledger = Ledger::new(limits);
    let chat = |name: &str| -> ChatId { name.parse().unwrap() };
    for (of, id, fits) in [
        ("a", "1", true),
        ("a", "2", true),
        ("a", "2", true),
        ("a", "3", false),
        ("b", "3", true),
    ] {
        let cancelled = ledger
            .cancel(&chat(of), &id.parse().unwrap(), &anyone())
            .await;
        assert_eq!(cancelled.is_ok(), fits, "{of} {id}: {cancelled:?}");
    }
    let runs = Arc::default();
    let first = run(&ledger, &request("a", "1", "{}"), &runs).await;
    assert_eq!(first, Err(Refused::Cancelled));
    assert_eq!(
        run(&ledger, &request("a", "3", "{}"), &runs).await.unwrap(),
        "0"
    );
}

#[tokio::test]
async fn nothing_begins_in_a_chat_that_is_being_ended() {
    let (ledger, runs) = (Ledger::default(), Arc::default());
    let (known, new) = (request("a", "1", "{}"), request("a", "2", "{}"));
    run(&ledger, &known, &runs).await.unwrap();
    let (one, other) = (ledger.close(&known.chat), ledger.close(&known.chat));
    drop(one);
    assert_eq!(run(&ledger, &known, &runs).await.unwrap(), "0");
    let refused = run(&ledger, &new, &runs).await.unwrap_err();
    assert!(matches!(refused, Refused::Busy(_)), "{refused}");
    run(&ledger, &request("b", "2", "{}"), &runs).await.unwrap();
    drop(other);
    assert_eq!(run(&ledger, &new, &runs).await.unwrap(), "2");
}

/// A runtime on a thread of its own that does one thing and ends.
fn elsewhere(work: impl Future<Output = ()> + Send + 'static) {
    std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(work);
    })
    .join()
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_outlives_the_runtime_of_its_caller() {
    let ledger = Ledger::default();
    let request = Arc::new(request("a", "1", "{}"));
    let (end, ends) = oneshot::channel::<()>();
    tokio::task::block_in_place(|| {
        let (ledger, request) = (ledger.clone(), Arc::clone(&request));
        elsewhere(async move {
            let mut calling = Box::pin(ledger.run(&request, |_| {
                admitted::<_, Refused>(async move {
                    ends.await.unwrap();
                    outcome("ran")
                })
            }));
            assert!(futures_util::poll!(calling.as_mut()).is_pending());
        });
    });
    end.send(()).unwrap();
    let again = call(&ledger, &request, false, "again").await.unwrap();
    assert_eq!(again.state(), State::Finished);
}

#[test]
fn what_ended_with_its_runtime_is_unknown_and_does_not_run_again() {
    // Made in no runtime, it has to use that of its callers.
    let ledger = Ledger::default();
    let request = Arc::new(request("a", "1", "{}"));
    let (of_first, first) = (ledger.clone(), Arc::clone(&request));
    elsewhere(async move { hang(&of_first, &first).await });
    elsewhere(async move {
        let again = call(&ledger, &request, false, "again").await.unwrap();
        assert_eq!(again.state(), State::Unknown);
    });
}
