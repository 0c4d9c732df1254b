//! A full disk: no call runs twice, though the host is killed meanwhile.

use super::restart::{call, directory, kill, open, open_failing};
use super::*;
use crate::call::{Durability, State};

fn of(id: &str) -> Arc<Request> {
    Arc::new(request("a", id, "{}"))
}

#[tokio::test]
async fn a_call_whose_end_the_disk_did_not_take_is_unknown_to_the_next_host() {
    let (_base, state) = directory();
    let (ledger, store) = open_failing(&state, Durability::Host).await;
    store.fail_ends(true);
    for text in ["ran", "again"] {
        let ended = call(&ledger, &of("ends"), false, text).await.unwrap();
        assert_eq!(ended.state(), State::Finished);
        let json = serde_json::to_string(&*ended).unwrap();
        assert!(json.contains("ran"), "{json}");
    }
    kill(ledger).await;
    let (ledger, interrupted) = open(&state, Limits::default(), Durability::Host).await;
    assert_eq!(interrupted.len(), 1);
    let again = call(&ledger, &of("ends"), false, "again").await.unwrap();
    assert_eq!(again.state(), State::Unknown);
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_is_refused_until_it_can() {
    for durability in [Durability::Host, Durability::Power] {
        let (_base, state) = directory();
        let (ledger, store) = open_failing(&state, durability).await;
        store.fail(true);
        for _ in 0..2 {
            let refused = call(&ledger, &of("1"), false, "ran").await.unwrap_err();
            assert_eq!(
                refused.to_string(),
                "the call was not started, because it cannot be recorded (the disk of store.db is full: free some space there); repeat it \
                 once that is repaired"
            );
            assert_eq!(refused.retry_after(), Some(1));
            let cancelled = ledger
                .cancel(&of("early").chat, &of("early").id, &anyone())
                .await;
            assert!(matches!(cancelled, Err(Refused::Unreadable(_))));
        }
        let status = ledger.status(&of("1").chat, &of("1").id).await;
        assert!(status.unwrap().is_none());
        // A tool that only reads runs on.
        let read = call(&ledger, &of("read"), true, "read").await.unwrap();
        assert_eq!(read.state(), State::Finished);
        store.fail(false);
        for id in ["1", "early"] {
            let ran = call(&ledger, &of(id), false, "ran").await.unwrap();
            assert_eq!(ran.state(), State::Finished, "{id}");
        }
    }
}

/// More waits than fits into memory: what is dropped is still no call that may run.
#[tokio::test]
async fn a_call_whose_record_was_dropped_from_memory_does_not_run_again() {
    let (_base, state) = directory();
    let (ledger, store) = open_failing(&state, Durability::Host).await;
    store.fail_ends(true);
    let large = "x".repeat(30 << 20);
    for id in ["1", "2", "3"] {
        call(&ledger, &of(id), false, &large).await.unwrap();
    }
    for _ in 0..2 {
        let again = call(&ledger, &of("1"), false, "again").await.unwrap();
        assert_eq!(again.state(), State::Unknown);
        let again = call(&ledger, &of("3"), false, "again").await.unwrap();
        assert_eq!(again.state(), State::Finished);
        store.fail_ends(false);
        call(&ledger, &of("later"), false, "later").await.unwrap();
    }
}
