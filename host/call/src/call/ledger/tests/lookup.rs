//! Lists of calls and chats: calls that run, that the store does not have, and of which the arguments are kept.

use std::collections::BTreeSet;

use toolhost_store::{CallQuery, CallState, ChatQuery};

use super::restart::{call, directory, hang, kill, open, open_failing};
use super::*;
use crate::call::Durability;

/// Returns the calls of a page, and the cursor of the next one.
async fn page(ledger: &Ledger, query: CallQuery) -> (Vec<String>, Option<i64>) {
    let page = ledger.calls(query, &anyone()).await.unwrap();
    let calls = page.calls.iter();
    let calls = calls.map(|call| format!("{} {:?}", call.call, call.state));
    (calls.collect(), page.next)
}

fn of(chat: &str, limit: u32) -> CallQuery {
    CallQuery::of_chat(chat.parse().unwrap(), limit)
}

/// Begins a call that only reads and never ends.
async fn read_for_ever(ledger: &Ledger, chat: &str, id: &str) {
    let request = Arc::new(request(chat, id, r#"{"path":"file"}"#));
    let mut calling = Box::pin(ledger.run_once(&request, |_| {
        Ok::<_, Refused>(Admitted {
            execution: std::future::pending(),
            read_only: true,
            resumable: false,
        })
    }));
    assert!(futures_util::poll!(calling.as_mut()).is_pending());
}

#[tokio::test]
async fn calls_that_run_are_listed_before_the_store_has_them() {
    let ledger = forgetful();
    call(&ledger, &Arc::new(request("a", "ended", "{}")), false, "x")
        .await
        .unwrap();
    hang(&ledger, &Arc::new(request("a", "writes", "{}"))).await;
    for id in ["reads-1", "reads-2"] {
        read_for_ever(&ledger, "a", id).await;
    }
    read_for_ever(&ledger, "b", "reads").await;
    let all = [
        "reads-2 Running",
        "reads-1 Running",
        "writes Running",
        "ended Finished",
    ];
    assert_eq!(
        page(&ledger, of("a", 4)).await,
        (all.map(str::to_owned).into(), None)
    );
    // Pages of every size have the same calls.
    for limit in 1..4 {
        let (mut query, mut found) = (of("a", limit), Vec::new());
        loop {
            let (calls, next) = page(&ledger, query.clone()).await;
            assert!(calls.len() <= limit as usize);
            found.extend(calls);
            match next {
                Some(next) => query.before = Some(next),
                None => break,
            }
        }
        assert_eq!(found, all, "{limit}");
    }
    let running = CallQuery {
        states: Some([CallState::Running].into()),
        chat: None,
        ..of("a", 9)
    };
    assert_eq!(page(&ledger, running).await.0.len(), 4);
    for missing in [
        CallQuery {
            tool: Some("u".into()),
            ..of("a", 9)
        },
        CallQuery {
            prefix: "b".into(),
            ..of("a", 9)
        },
        CallQuery {
            states: Some([CallState::Failed].into()),
            ..of("a", 9)
        },
        CallQuery {
            until_ms: Some(1),
            ..of("a", 9)
        },
        // The arguments of this ledger are not kept, so that no text is found in them.
        CallQuery {
            text: Some("path".into()),
            ..of("a", 9)
        },
    ] {
        assert_eq!(page(&ledger, missing).await.0, [""; 0]);
    }
    let bounded = anyone().with_tools(BTreeSet::from(["u".to_owned()]));
    let seen = ledger.calls(of("a", 9), &bounded).await.unwrap();
    assert_eq!(seen.calls, []);
    let chats = ChatQuery {
        limit: 9,
        ..ChatQuery::default()
    };
    let chats = ledger.chats(chats).await.unwrap().chats;
    let counts: Vec<_> = chats
        .iter()
        .map(|chat| (chat.chat.as_str(), chat.running))
        .collect();
    assert_eq!(counts, [("a", 3), ("b", 1)]);
    assert!(
        chats
            .iter()
            .all(|chat| chat.principal == "host" && chat.used_ms.is_some())
    );
}

#[tokio::test]
async fn an_end_that_the_store_does_not_take_is_listed() {
    let (_base, state) = directory();
    let (ledger, store) = open_failing(&state, Durability::Host).await;
    let first = Arc::new(request("a", "1", "{}"));
    let (end, ends) = oneshot::channel::<()>();
    let (begun, begins) = oneshot::channel();
    let calling = ledger.run_once(&first, |_| {
        admitted::<_, Refused>(async move {
            begun.send(()).unwrap();
            ends.await.unwrap();
            outcome("x")
        })
    });
    let failing = async {
        begins.await.unwrap();
        assert_eq!(page(&ledger, of("a", 9)).await.0, ["1 Running"]);
        store.fail(true);
        end.send(()).unwrap();
    };
    let (called, ()) = tokio::join!(calling, failing);
    called.unwrap();
    assert_eq!(page(&ledger, of("a", 9)).await.0, ["1 Finished"]);
    store.fail(false);
    call(&ledger, &Arc::new(request("a", "2", "{}")), false, "y")
        .await
        .unwrap();
    assert_eq!(
        page(&ledger, of("a", 9)).await.0,
        ["2 Finished", "1 Finished"]
    );
}

/// The store does not take the ends of calls, as on a full disk.
#[tokio::test]
async fn calls_that_wait_for_the_store_are_listed() {
    let (_base, state) = directory();
    let (ledger, store) = open_failing(&state, Durability::Host).await;
    let request = |id: &str| Arc::new(request("a", id, "{}"));
    call(&ledger, &request("stored"), false, "x").await.unwrap();
    store.fail_ends(true);
    call(&ledger, &request("ended"), false, "x").await.unwrap();
    call(&ledger, &request("read"), true, "x").await.unwrap();
    hang(&ledger, &request("runs")).await;
    let all = [
        "read Finished",
        "ended Finished",
        "runs Running",
        "stored Finished",
    ];
    for limit in 1..5 {
        let (mut query, mut found) = (of("a", limit), Vec::new());
        loop {
            let (calls, next) = page(&ledger, query.clone()).await;
            found.extend(calls);
            match next {
                Some(next) => query.before = Some(next),
                None => break,
            }
        }
        assert_eq!(found, all, "{limit}");
    }
    let finished = CallQuery {
        states: Some([CallState::Finished].into()),
        ..of("a", 9)
    };
    assert_eq!(page(&ledger, finished).await.0.len(), 3);
    for id in ["ended", "runs"] {
        let (chat, id) = ("a".parse().unwrap(), id.parse().unwrap());
        let arguments = ledger.arguments(&chat, &id).await.unwrap();
        assert_eq!(arguments.as_deref(), Some("{}"), "{id}");
    }
    store.fail_ends(false);
    assert_eq!(
        page(&ledger, of("a", 9)).await.0,
        [
            "read Finished",
            "runs Running",
            "ended Finished",
            "stored Finished"
        ]
    );
}

#[tokio::test]
async fn arguments_are_kept_if_the_operator_allows_it() {
    let (_base, state) = directory();
    let limits = Limits {
        arguments: 20,
        ..Limits::default()
    };
    let (ledger, _) = open(&state, limits.clone(), Durability::Host).await;
    let (chat, of_id) = ("a".parse().unwrap(), |id: &str| id.parse().unwrap());
    let small = Arc::new(request("a", "small", r#"{"x":"needle"}"#));
    call(&ledger, &small, true, "x").await.unwrap();
    let large = format!(r#"{{"x":"needle {}"}}"#, "y".repeat(20));
    call(
        &ledger,
        &Arc::new(request("a", "large", &large)),
        false,
        "x",
    )
    .await
    .unwrap();
    hang(&ledger, &Arc::new(request("a", "ran", r#"{"x":"needle"}"#))).await;
    let needle = || CallQuery {
        text: Some("needle".into()),
        ..of("a", 9)
    };
    let found = ["ran Running", "small Finished"];
    assert_eq!(page(&ledger, needle()).await.0, found);
    let arguments = ledger.arguments(&chat, &of_id("ran")).await.unwrap();
    assert_eq!(arguments.as_deref(), Some(r#"{"x":"needle"}"#));
    assert_eq!(
        ledger.arguments(&chat, &of_id("large")).await.unwrap(),
        None
    );
    assert_eq!(ledger.arguments(&chat, &of_id("none")).await.unwrap(), None);
    // The host is killed. The call that ran keeps its arguments, also with an outcome.
    kill(ledger).await;
    let (ledger, interrupted) = open(&state, limits, Durability::Host).await;
    assert_eq!(interrupted.len(), 1);
    ledger.settle(&interrupted[0], outcome("y")).await;
    assert_eq!(
        page(&ledger, needle()).await.0,
        ["ran Finished", "small Finished"]
    );
    let arguments = ledger.arguments(&chat, &of_id("ran")).await.unwrap();
    assert_eq!(arguments.as_deref(), Some(r#"{"x":"needle"}"#));
}

/// A reply that says it did not succeed is told from one that did, as it is for the exit code of `toolhost call`.
#[tokio::test]
async fn calls_that_did_not_succeed_are_found() {
    let ledger = forgetful();
    for (id, json, is_error) in [
        ("good", r#"{"success":true}"#, false),
        ("other", r#"{"success":"no"}"#, false),
        ("bad", r#"{"output":"x","success":false}"#, false),
        ("error", r#"{"success":true}"#, true),
    ] {
        let json = serde_json::value::RawValue::from_string(json.into()).unwrap();
        let content = vec![Content::Json { json }];
        let reply = Ok(Reply { content, is_error });
        let outcome = Outcome::new(id.parse().unwrap(), "t", reply);
        let request = Arc::new(request("a", id, "{}"));
        let run = ledger.run_once(&request, |_| admitted::<_, Refused>(async { outcome }));
        run.await.unwrap();
    }
    let failed = CallQuery {
        states: Some([CallState::Unsuccessful].into()),
        ..of("a", 9)
    };
    let found = ["error Unsuccessful", "bad Unsuccessful"];
    assert_eq!(page(&ledger, failed).await.0, found);
}
