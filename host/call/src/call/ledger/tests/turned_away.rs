//! Calls that are turned away after they have begun, because the machine is short of something.

use super::restart::{directory, kill, open, open_failing};
use super::*;
use crate::call::Durability;

/// Runs a call that is turned away.
async fn turn_away(ledger: &Ledger, request: &Request, read_only: bool) -> Refused {
    let admit = |_: &Permit| {
        Ok::<_, Refused>(Admitted {
            execution: async { Err(Refused::Busy("no descriptors".into())) },
            read_only,
            resumable: false,
        })
    };
    let told = ledger.run_once(&Arc::new(request.clone()), admit).await;
    told.expect_err("it is turned away")
}

fn busy() -> Refused {
    Refused::Busy("no descriptors".into())
}

#[tokio::test]
async fn a_call_that_is_turned_away_is_unknown_and_its_repeat_runs() {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Host).await;
    let runs = Arc::default();
    for (id, read_only) in [("1", false), ("2", true)] {
        let request = request("a", id, "{}");
        for _ in 0..2 {
            assert_eq!(turn_away(&ledger, &request, read_only).await, busy());
            let status = ledger.status(&request.chat, &request.id).await.unwrap();
            assert!(status.is_none(), "{status:?}");
        }
    }
    // The id is free for other arguments as well.
    let other = request("a", "1", "{\"x\":1}");
    assert_eq!(run(&ledger, &other, &runs).await.unwrap(), "0");
    assert_eq!(run(&ledger, &other, &runs).await.unwrap(), "0");
    // A host that is killed leaves nothing of the call behind.
    assert_eq!(
        turn_away(&ledger, &request("a", "3", "{}"), false).await,
        busy()
    );
    kill(ledger).await;
    let (ledger, interrupted) = open(&state, Limits::default(), Durability::Host).await;
    assert!(interrupted.is_empty(), "{interrupted:?}");
    let request = request("a", "3", "{}");
    assert_eq!(run(&ledger, &request, &runs).await.unwrap(), "1");
}

#[tokio::test]
async fn every_caller_of_a_call_hears_that_it_is_turned_away() {
    let ledger = forgetful();
    let request = Arc::new(request("a", "1", "{}"));
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let mut first = Box::pin(ledger.run_once(&request, |_| {
        Ok::<_, Refused>(Admitted {
            execution: async {
                begun.send(()).unwrap();
                _ = gone.await;
                Err(busy())
            },
            read_only: false,
            resumable: false,
        })
    }));
    assert!(futures_util::poll!(first.as_mut()).is_pending());
    begins.await.unwrap();
    let again = |_: &Permit| admitted::<_, Refused>(async { outcome("again") });
    let mut second = Box::pin(ledger.run_once(&request, again));
    assert!(futures_util::poll!(second.as_mut()).is_pending());
    go.send(()).unwrap();
    assert_eq!(first.await.unwrap_err(), busy());
    assert_eq!(second.await.unwrap_err(), busy());
}

/// The repeat must not run before the store has forgotten that the call began.
#[tokio::test]
async fn a_store_that_cannot_forget_a_call_now_forgets_it_later() {
    let (_base, state) = directory();
    let (ledger, store) = open_failing(&state, Durability::Host).await;
    let (request, runs) = (request("a", "1", "{}"), Arc::default());
    let fails = Arc::clone(&store);
    let admit = |_: &Permit| {
        Ok::<_, Refused>(Admitted {
            execution: async move {
                fails.fail(true);
                Err(busy())
            },
            read_only: false,
            resumable: false,
        })
    };
    let told = ledger.run_once(&Arc::new(request.clone()), admit).await;
    assert_eq!(told.unwrap_err(), busy());
    let refused = run(&ledger, &request, &runs).await.unwrap_err();
    assert!(matches!(refused, Refused::Unrecorded(_)), "{refused}");
    store.fail(false);
    assert_eq!(run(&ledger, &request, &runs).await.unwrap(), "0");
}

/// A cancellation that came while the call began holds.
#[tokio::test]
async fn a_cancelled_call_that_is_turned_away_never_runs() {
    let (_base, state) = directory();
    let (ledger, _) = open(&state, Limits::default(), Durability::Host).await;
    let (request, runs) = (Arc::new(request("a", "1", "{}")), Arc::default());
    let (begun, begins) = oneshot::channel();
    let calling = ledger.run_once(&request, |permit| {
        let cancelled = permit.cancelled().clone();
        Ok::<_, Refused>(Admitted {
            execution: async move {
                begun.send(()).unwrap();
                cancelled.cancelled().await;
                Err(busy())
            },
            read_only: false,
            resumable: false,
        })
    });
    let (told, ()) = tokio::join!(calling, async {
        begins.await.unwrap();
        _ = ledger.cancel(&request.chat, &request.id, &anyone()).await;
    });
    assert_eq!(told.unwrap_err(), busy());
    let repeated = run(&ledger, &request, &runs).await;
    assert_eq!(repeated.unwrap_err(), Refused::Cancelled);
}
