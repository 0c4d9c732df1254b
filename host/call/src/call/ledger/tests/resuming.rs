//! Calls that run again because their host was killed while they ran.

use super::restart::{directory, hang_as, kill, open};
use super::*;
use crate::call::Durability;
use crate::tool::{ErrorKind, ToolError};
use toolhost_state::state_dir::StateDir;

/// Calls with an outcome of this text.
async fn call(
    ledger: &Ledger,
    request: &Request,
    resumable: bool,
    text: &str,
) -> Result<Arc<Outcome>, Refused> {
    let outcome = Outcome {
        id: request.id.clone(),
        ..outcome(text)
    };
    let admit = |_: &Permit| {
        Ok(Admitted {
            execution: async move { Ok(outcome) },
            read_only: false,
            resumable,
        })
    };
    ledger.run_once(&Arc::new(request.clone()), admit).await
}

/// Begins a call that never ends.
async fn hang(ledger: &Ledger, request: &Request, resumable: bool) {
    hang_as(ledger, &Arc::new(request.clone()), resumable).await;
}

/// Opens the ledger of the next host, which settles the interrupted calls.
async fn reopen(state: &StateDir) -> Ledger {
    let (ledger, interrupted) = open(state, Limits::default(), Durability::Host).await;
    for call in interrupted {
        let error = ToolError::new(ErrorKind::UnknownOutcome, "unknown");
        let outcome = Outcome::new(call.call.clone(), call.tool.as_str(), Err(error));
        ledger.settle(&call, outcome).await;
    }
    ledger
}

fn text(outcome: &Outcome) -> &str {
    match outcome.result.as_ref().map(|reply| &*reply.content) {
        Ok([Content::Text { text }]) => text,
        _ => outcome.state().name(),
    }
}

#[tokio::test]
async fn an_interrupted_call_runs_again_if_its_record_says_so() {
    let (_base, state) = directory();
    let (yes, no) = (request("a", "yes", "{}"), request("a", "no", "{}"));
    let ledger = reopen(&state).await;
    hang(&ledger, &yes, true).await;
    hang(&ledger, &no, false).await;
    kill(ledger).await;
    // Killed once more, while it runs again.
    let ledger = reopen(&state).await;
    assert_eq!(
        ledger
            .status(&yes.chat, &yes.id)
            .await
            .unwrap()
            .map(|status| matches!(status, CallStatus::Ended(_))),
        Some(true)
    );
    hang(&ledger, &yes, true).await;
    kill(ledger).await;
    let ledger = reopen(&state).await;
    let other = request("a", "yes", "{\"x\":1}");
    assert_eq!(
        call(&ledger, &other, true, "x").await.unwrap_err(),
        Refused::InputMismatch
    );
    // The plugin of a call that ran on its own may have been granted more since, and the other way round.
    assert_eq!(
        text(&call(&ledger, &yes, false, "x").await.unwrap()),
        "unknown"
    );
    assert_eq!(
        text(&call(&ledger, &no, true, "x").await.unwrap()),
        "unknown"
    );
    for _ in 0..2 {
        let again = call(&ledger, &yes, true, "again").await.unwrap();
        assert_eq!(text(&again), "again");
    }
    kill(ledger).await;
    let ledger = reopen(&state).await;
    for resumable in [true, false] {
        let again = call(&ledger, &yes, resumable, "x").await.unwrap();
        assert_eq!(text(&again), "again");
    }
}

#[tokio::test]
async fn a_call_that_was_cancelled_does_not_run_again() {
    let (_base, state) = directory();
    let one = request("a", "1", "{}");
    let ledger = reopen(&state).await;
    hang(&ledger, &one, true).await;
    kill(ledger).await;
    let ledger = reopen(&state).await;
    let cancelled = ledger.cancel(&one.chat, &one.id, &anyone()).await.unwrap();
    assert!(matches!(cancelled, Cancelled::Ended(_)));
    assert_eq!(
        call(&ledger, &one, true, "x").await.unwrap_err(),
        Refused::Cancelled
    );
}

#[tokio::test]
async fn nested_calls_are_found_wherever_they_are() {
    let (_base, state) = directory();
    let outer: CallId = "outer".parse().unwrap();
    let of = |number: u32, arguments: &str| {
        let mut nested = request("a", "x", arguments);
        nested.id = outer.nested(number).unwrap();
        nested
    };
    let ledger = reopen(&state).await;
    for id in ["outer", "outer0", "oute"] {
        call(&ledger, &request("a", id, "{}"), true, "x")
            .await
            .unwrap();
    }
    let (first, second) = (of(1, "{}"), of(2, "{\"x\":1}"));
    call(&ledger, &first, false, "x").await.unwrap();
    hang(&ledger, &second, false).await;
    let chat = first.chat.clone();
    ledger
        .cancel(&chat, &of(3, "{}").id, &anyone())
        .await
        .unwrap();
    let expected = [
        (1, NestedRecord::Begun(first.digest())),
        (2, NestedRecord::Begun(second.digest())),
        (3, NestedRecord::Tombstone),
    ];
    let found = async |ledger: &Ledger| {
        let nested = ledger.nested(&chat, &outer).await.unwrap();
        let nested = nested.into_iter().map(|call| (call.number, call.record));
        nested.collect::<Vec<_>>()
    };
    assert_eq!(found(&ledger).await, expected);
    kill(ledger).await;
    let ledger = reopen(&state).await;
    assert_eq!(found(&ledger).await, expected);
    let none = ledger.nested(&"b".parse().unwrap(), &outer).await.unwrap();
    assert_eq!(none, []);
}
