//! Cancelling calls before, while and after they run.

use super::*;
use crate::call::State;

/// A call that ends when it is cancelled.
fn patient(
    cancelled: CancellationToken,
) -> Result<Admitted<impl Future<Output = Outcome>>, Refused> {
    admitted(async move {
        cancelled.cancelled().await;
        Outcome {
            cancelled: true,
            ..outcome("as far as it came")
        }
    })
}

#[tokio::test]
async fn a_call_that_runs_is_cancelled_and_everybody_gets_its_reply() {
    let ledger = Ledger::default();
    let request = Arc::new(request("a", "1", "{}"));
    let mut first = Box::pin(ledger.run(&request, patient));
    assert!(futures_util::poll!(first.as_mut()).is_pending());
    let standing = ledger.standing(&request.chat, &request.id);
    assert!(matches!(standing, Some(Standing::Live { tool, .. }) if tool == "t"));
    for _ in 0..2 {
        let cancelled = ledger.cancel(&request.chat, &request.id).await.unwrap();
        let Cancelled::Ended(outcome) = cancelled else {
            panic!("{cancelled:?}");
        };
        assert_eq!(outcome.state(), State::Cancelled);
    }
    assert_eq!(first.await.unwrap().state(), State::Cancelled);
    let again = ledger.run(&request, patient).await;
    assert_eq!(again.unwrap_err(), Refused::Cancelled);
    let standing = ledger.standing(&request.chat, &request.id);
    assert!(matches!(standing, Some(Standing::Ended(_))));
}

#[tokio::test]
async fn a_call_that_has_not_arrived_will_not_run_in_its_chat() {
    let (ledger, runs) = (Ledger::default(), Arc::default());
    let here = request("a", "1", "{}");
    assert!(ledger.standing(&here.chat, &here.id).is_none());
    for _ in 0..2 {
        let cancelled = ledger.cancel(&here.chat, &here.id).await.unwrap();
        assert!(matches!(cancelled, Cancelled::Fenced));
    }
    let standing = ledger.standing(&here.chat, &here.id);
    assert!(matches!(standing, Some(Standing::Fenced)));
    for _ in 0..2 {
        assert_eq!(run(&ledger, &here, &runs).await, Err(Refused::Cancelled));
    }
    let there = request("b", "1", "{}");
    assert!(ledger.standing(&there.chat, &there.id).is_none());
    assert_eq!(run(&ledger, &there, &runs).await.unwrap(), "0");
}

#[tokio::test]
async fn a_call_that_has_ended_keeps_its_reply_and_is_not_repeated() {
    let (ledger, runs) = (Ledger::default(), Arc::default());
    let request = request("a", "1", "{}");
    assert_eq!(run(&ledger, &request, &runs).await.unwrap(), "0");
    let cancelled = ledger.cancel(&request.chat, &request.id).await.unwrap();
    let Cancelled::Ended(outcome) = cancelled else {
        panic!("{cancelled:?}");
    };
    assert_eq!(outcome.state(), State::Finished);
    assert_eq!(run(&ledger, &request, &runs).await, Err(Refused::Cancelled));
}

#[tokio::test]
async fn the_end_of_a_chat_cancels_its_calls_and_no_others() {
    let ledger = Ledger::default();
    let (one, two, other) = (
        Arc::new(request("a", "1", "{}")),
        Arc::new(request("a", "2", "{}")),
        Arc::new(request("b", "1", "{}")),
    );
    let mut calls: Vec<_> = [&one, &two, &other]
        .map(|request| Box::pin(ledger.run(request, patient)))
        .into();
    for call in &mut calls {
        assert!(futures_util::poll!(call.as_mut()).is_pending());
    }
    assert_eq!(ledger.stats().running, 3);
    assert_eq!(ledger.cancel_all(&one.chat).await.len(), 2);
    assert_eq!(ledger.stats().running, 1);
    assert!(futures_util::poll!(calls[2].as_mut()).is_pending());
    ledger.cancel_all(&other.chat).await;
    for call in calls {
        assert_eq!(call.await.unwrap().state(), State::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn fences_are_bounded_and_end() {
    let limits = Limits {
        keep_per_chat: 0,
        fences_per_chat: 3,
        ..Limits::default()
    };
    let (ledger, runs) = (Ledger::new(limits), Arc::default());
    let cancel = async |id: &str| {
        let fenced = request("a", id, "{}");
        ledger.cancel(&fenced.chat, &fenced.id).await
    };
    for id in ["1", "2", "3"] {
        cancel(id).await.unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
    }
    let refused = cancel("4").await.unwrap_err();
    assert!(matches!(refused, Refused::Busy(_)), "{refused}");
    let of = async |id: &str| run(&ledger, &request("a", id, "{}"), &runs).await;
    assert_eq!(of("1").await, Err(Refused::Cancelled));
    tokio::time::advance(Duration::from_secs(24 * 3600)).await;
    assert_eq!(of("1").await.unwrap(), "0");
    cancel("4").await.unwrap();
}
