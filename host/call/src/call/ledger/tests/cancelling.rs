//! Cancelling calls before, while and after they run.

use toolhost_store::{Sqlite, Store};

use super::*;
use crate::call::State;

/// A call that ends when it is cancelled.
fn patient(
    permit: &Permit,
) -> Result<Admitted<impl Future<Output = Result<Outcome, Refused>> + use<>>, Refused> {
    let cancelled = permit.cancelled().clone();
    admitted(async move {
        cancelled.cancelled().await;
        Outcome {
            cancelled: true,
            ..outcome("as far as it came")
        }
    })
}

/// Nobody asked for the end of what a shutdown cancels, and the model must not take it for a wish of the user.
#[tokio::test]
async fn a_call_that_a_shutdown_cancels_says_so() {
    for is_wanted in [false, true] {
        let stopping = CancellationToken::new();
        let store = Arc::new(Sqlite::in_memory().unwrap());
        let kept = (store as Arc<dyn Store>, Durability::Host);
        let opened = Ledger::open(Limits::default(), kept, None, stopping.clone());
        let (ledger, _) = opened.await.unwrap();
        let request = Arc::new(request("a", "1", "{}"));
        let mut call = Box::pin(ledger.run_once(&request, patient));
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        let end = async {
            if is_wanted {
                _ = ledger.cancel(&request.chat, &request.id, &anyone()).await;
            }
            stopping.cancel();
        };
        let (outcome, ()) = tokio::join!(call, end);
        let text = serde_json::to_string(&*outcome.unwrap()).unwrap();
        assert_eq!(
            text.contains("The server was shut down"),
            !is_wanted,
            "{text}"
        );
        assert!(text.contains("as far as it came"), "{text}");
    }
}

#[tokio::test]
async fn a_call_that_runs_is_cancelled_and_everybody_gets_its_reply() {
    let ledger = forgetful();
    let request = Arc::new(request("a", "1", "{}"));
    let mut first = Box::pin(ledger.run_once(&request, patient));
    assert!(futures_util::poll!(first.as_mut()).is_pending());
    let status = ledger.status(&request.chat, &request.id).await.unwrap();
    assert!(matches!(status, Some(CallStatus::Live { tool, .. }) if tool == "t"));
    for _ in 0..2 {
        let cancelled = ledger
            .cancel(&request.chat, &request.id, &anyone())
            .await
            .unwrap();
        let Cancelled::Ended(outcome) = cancelled else {
            panic!("{cancelled:?}");
        };
        assert_eq!(outcome.state(), State::Cancelled);
    }
    assert_eq!(first.await.unwrap().state(), State::Cancelled);
    let again = ledger.run_once(&request, patient).await;
    assert_eq!(again.unwrap_err(), Refused::Cancelled);
    let status = ledger.status(&request.chat, &request.id).await.unwrap();
    assert!(matches!(status, Some(CallStatus::Ended(_))));
}

#[tokio::test]
async fn a_call_that_has_not_arrived_will_not_run_in_its_chat() {
    let (ledger, runs) = (forgetful(), Arc::default());
    let here = request("a", "1", "{}");
    assert!(ledger.status(&here.chat, &here.id).await.unwrap().is_none());
    for _ in 0..2 {
        let cancelled = ledger
            .cancel(&here.chat, &here.id, &anyone())
            .await
            .unwrap();
        assert!(matches!(cancelled, Cancelled::Tombstone));
    }
    let status = ledger.status(&here.chat, &here.id).await.unwrap();
    assert!(matches!(
        status,
        Some(CallStatus::Tombstone { tools: None })
    ));
    for _ in 0..2 {
        assert_eq!(run(&ledger, &here, &runs).await, Err(Refused::Cancelled));
    }
    let there = request("b", "1", "{}");
    assert!(
        ledger
            .status(&there.chat, &there.id)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(run(&ledger, &there, &runs).await.unwrap(), "0");
}

#[tokio::test]
async fn a_call_that_has_ended_keeps_its_reply_and_is_not_repeated() {
    let (ledger, runs) = (forgetful(), Arc::default());
    let request = request("a", "1", "{}");
    assert_eq!(run(&ledger, &request, &runs).await.unwrap(), "0");
    let cancelled = ledger
        .cancel(&request.chat, &request.id, &anyone())
        .await
        .unwrap();
    let Cancelled::Ended(outcome) = cancelled else {
        panic!("{cancelled:?}");
    };
    assert_eq!(outcome.state(), State::Finished);
    assert_eq!(run(&ledger, &request, &runs).await, Err(Refused::Cancelled));
}

#[tokio::test]
async fn the_end_of_a_chat_cancels_its_calls_and_no_others() {
    let ledger = forgetful();
    let (one, two, other) = (
        Arc::new(request("a", "1", "{}")),
        Arc::new(request("a", "2", "{}")),
        Arc::new(request("b", "1", "{}")),
    );
    let mut calls: Vec<_> = [&one, &two, &other]
        .map(|request| Box::pin(ledger.run_once(request, patient)))
        .into();
    for call in &mut calls {
        assert!(futures_util::poll!(call.as_mut()).is_pending());
    }
    assert_eq!(ledger.stats().running, 3);
    assert_eq!(ledger.cancel_all(&one.chat, &anyone()).await.len(), 2);
    assert_eq!(ledger.stats().running, 1);
    assert!(futures_util::poll!(calls[2].as_mut()).is_pending());
    ledger.cancel_all(&other.chat, &anyone()).await;
    for call in calls {
        assert_eq!(call.await.unwrap().state(), State::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn tombstones_are_bounded_and_end() {
    let limits = Limits {
        keep_per_chat: 0,
        tombstones_per_chat: 3,
        ..Limits::default()
    };
    let (ledger, runs) = (Ledger::new(limits).unwrap(), Arc::default());
    let cancel = async |id: &str| {
        let tombstone = request("a", id, "{}");
        ledger
            .cancel(&tombstone.chat, &tombstone.id, &anyone())
            .await
    };
    for id in ["1", "2", "3"] {
        cancel(id).await.unwrap();
        pass(&ledger, 61).await;
    }
    let refused = cancel("4").await.unwrap_err();
    assert!(matches!(refused, Refused::Busy(_)), "{refused}");
    let of = async |id: &str| run(&ledger, &request("a", id, "{}"), &runs).await;
    assert_eq!(of("1").await, Err(Refused::Cancelled));
    pass(&ledger, 24 * 3600).await;
    assert_eq!(of("1").await.unwrap(), "0");
    cancel("4").await.unwrap();
}

/// Returns an actor that may use these tools only.
fn bounded(tools: &[&str]) -> Actor {
    let tools = tools.iter().map(|tool| (*tool).to_owned());
    Actor::new("bounded").with_tools(tools.collect())
}

fn of_tool(id: &str, tool: &str) -> Request {
    Request {
        tool: tool.into(),
        ..request("a", id, "{}")
    }
}

#[tokio::test]
async fn a_tombstone_stops_calls_of_the_tools_of_who_made_it_also_in_a_later_host() {
    let (_base, state) = super::restart::directory();
    let open = async || {
        let host = crate::call::Durability::Host;
        super::restart::open(&state, Limits::default(), host)
            .await
            .0
    };
    let cancel = async |ledger: &Ledger, id: &str, tools: &[&str]| {
        let of = request("a", id, "{}");
        let cancelled = ledger.cancel(&of.chat, &of.id, &bounded(tools)).await;
        assert!(
            matches!(cancelled, Ok(Cancelled::Tombstone)),
            "{cancelled:?}"
        );
    };
    let ledger = open().await;
    cancel(&ledger, "one", &["t"]).await;
    cancel(&ledger, "two", &["t"]).await;
    cancel(&ledger, "two", &["u"]).await;
    cancel(&ledger, "all", &["t"]).await;
    let all = request("a", "all", "{}");
    ledger.cancel(&all.chat, &all.id, &anyone()).await.unwrap();
    // As a killed host does, it says nothing at its end.
    super::restart::kill(ledger).await;
    let (ledger, runs) = (open().await, Arc::default());
    for (id, tool, stopped) in [
        ("one", "t", true),
        ("one", "u", false),
        ("two", "t", true),
        ("two", "u", true),
        ("two", "v", false),
        ("all", "v", true),
    ] {
        let ran = run(&ledger, &of_tool(id, tool), &runs).await;
        assert_eq!(
            ran == Err(Refused::Cancelled),
            stopped,
            "{id} {tool}: {ran:?}"
        );
    }
    // The place of the tombstone was taken.
    let ran = run(&ledger, &of_tool("one", "t"), &runs).await;
    assert_eq!(ran, Err(Refused::InputMismatch));
}

#[tokio::test]
async fn who_may_not_use_a_tool_cancels_no_call_of_it() {
    let (ledger, runs) = (forgetful(), Arc::default());
    let (over, live) = (
        request("a", "over", "{}"),
        Arc::new(request("a", "live", "{}")),
    );
    run(&ledger, &over, &runs).await.unwrap();
    let mut call = Box::pin(ledger.run_once(&live, patient));
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    let other = bounded(&["u"]);
    for request in [&over, &*live] {
        let cancelled = ledger.cancel(&request.chat, &request.id, &other).await;
        assert!(
            matches!(cancelled, Ok(Cancelled::Tombstone)),
            "{cancelled:?}"
        );
    }
    assert!(ledger.cancel_all(&live.chat, &other).await.is_empty());
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    assert_eq!(run(&ledger, &over, &runs).await.unwrap(), "0");
    let own = bounded(&["t"]);
    let cancelled = ledger.cancel(&live.chat, &live.id, &own).await.unwrap();
    assert!(matches!(cancelled, Cancelled::Ended(_)), "{cancelled:?}");
    assert_eq!(call.await.unwrap().state(), State::Cancelled);
}
