//! Ids that are used again after they were forgotten, ends that could not be written down, and calls that end too early.

use super::restart::{call, close, directory, hang, kill, open, open_failing};
use super::*;
use crate::call::{Durability, State};

/// Lets time pass for a ledger on a disk. While the clock stands still, it goes on as soon as nothing is left to do but to wait for the disk.
async fn pass_kept(ledger: &Ledger, seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
    ledger.shared.sweep_now().await;
}

#[tokio::test]
async fn a_call_of_a_forgotten_id_that_was_interrupted_does_not_run_again() {
    let (_base, state) = directory();
    let request = Arc::new(request("a", "1", "{}"));
    let limits = Limits {
        keep_per_chat: 0,
        ..Limits::default()
    };
    let (ledger, _) = open(&state, limits, Durability::Host).await;
    call(&ledger, &request, false, "first").await.unwrap();
    pass_kept(&ledger, 2 * 3600).await;
    pass_kept(&ledger, 25 * 3600).await;
    hang(&ledger, &request).await;
    // The host is killed, and so is the next one.
    kill(ledger).await;
    let (ledger, interrupted) = open(&state, Limits::default(), Durability::Host).await;
    assert_eq!(interrupted.len(), 1);
    kill(ledger).await;
    let (ledger, _) = open(&state, Limits::default(), Durability::Host).await;
    let again = call(&ledger, &request, false, "again").await.unwrap();
    assert_eq!(again.state(), State::Unknown);
}

#[tokio::test]
async fn a_call_that_ran_after_its_tombstone_was_forgotten_has_its_reply() {
    let (_base, state) = directory();
    let request = Arc::new(request("a", "1", "{}"));
    let (ledger, _) = open(&state, Limits::default(), Durability::Host).await;
    ledger
        .cancel(&request.chat, &request.id, &anyone())
        .await
        .unwrap();
    pass_kept(&ledger, 25 * 3600).await;
    call(&ledger, &request, false, "first").await.unwrap();
    close(ledger).await;
    let (ledger, _) = open(&state, Limits::default(), Durability::Host).await;
    let again = call(&ledger, &request, false, "again").await.unwrap();
    let json = serde_json::to_string(&*again).unwrap();
    assert!(json.contains("first"), "{json}");
    assert_eq!(again.state(), State::Finished);
}

#[tokio::test]
async fn an_end_that_could_not_be_written_is_written_later() {
    let (_base, state) = directory();
    let (ledger, store) = open_failing(&state, Durability::Host).await;
    let of = |id: &str| Arc::new(request("a", id, "{}"));
    let (end, ends) = oneshot::channel::<()>();
    let (begun, begins) = oneshot::channel();
    let first = of("1");
    let calling = ledger.run_once(&first, |_| {
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
        store.fail(true);
        end.send(()).unwrap();
    });
    told.unwrap();
    store.fail(false);
    // The next line to be written brings the missing line with it.
    call(&ledger, &of("2"), false, "second").await.unwrap();
    close(ledger).await;
    let (ledger, interrupted) = open(&state, Limits::default(), Durability::Host).await;
    assert!(interrupted.is_empty(), "{interrupted:?}");
    let again = call(&ledger, &of("1"), false, "again").await.unwrap();
    assert_eq!(again.state(), State::Finished);
}

#[tokio::test]
async fn more_tombstones_than_are_remembered_are_refused() {
    let limits = Limits {
        tombstones_per_chat: 2,
        ..Limits::default()
    };
    let ledger = Ledger::new(limits).unwrap();
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
    let (ledger, runs) = (forgetful(), Arc::default());
    let (known, new) = (request("a", "1", "{}"), request("a", "2", "{}"));
    run(&ledger, &known, &runs).await.unwrap();
    let (one, other) = (
        ledger.refuse_new_calls(&known.chat),
        ledger.refuse_new_calls(&known.chat),
    );
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
    let ledger = forgetful();
    let request = Arc::new(request("a", "1", "{}"));
    let (end, ends) = oneshot::channel::<()>();
    tokio::task::block_in_place(|| {
        let (ledger, request) = (ledger.clone(), Arc::clone(&request));
        elsewhere(async move {
            let mut calling = Box::pin(ledger.run_once(&request, |_| {
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
    let ledger = forgetful();
    let request = Arc::new(request("a", "1", "{}"));
    let (of_first, first) = (ledger.clone(), Arc::clone(&request));
    elsewhere(async move { hang(&of_first, &first).await });
    elsewhere(async move {
        let again = call(&ledger, &request, false, "again").await.unwrap();
        assert_eq!(again.state(), State::Unknown);
    });
}
