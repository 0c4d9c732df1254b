//! Calls that other calls have made, and calls that run again.

use toolhost_state::id::CallId;
use toolhost_store::{Begun, CallState, EndedCall, NestedCall, NestedRecord, NewCall, Store};

use crate::suite::begin;
use crate::values::{call, cancellation, ended, limits};

fn nested(outer: &str, number: u32) -> NewCall {
    let outer: CallId = outer.parse().unwrap();
    NewCall {
        call: outer.nested(number).unwrap(),
        digest: [u8::try_from(number % 256).unwrap(); 32],
        ..call("c", "x")
    }
}

pub(crate) async fn the_calls_of_a_call_are_listed(store: &dyn Store) {
    for id in ["o", "o0", "o.", "p"] {
        assert_eq!(begin(store, "c", id).await, Begun::New);
    }
    for number in [2, 10, 1, 300] {
        let new = store.begin(nested("o", number)).await.unwrap();
        assert_eq!(new, Begun::New);
    }
    store.begin(nested("p", 7)).await.unwrap();
    let call = nested("o", 10);
    let gone = EndedCall {
        call,
        ..ended("c", "x")
    };
    store.end(gone).await.unwrap();
    let short = toolhost_store::Limits {
        keep: std::time::Duration::ZERO,
        keep_per_chat: 0,
        ..limits()
    };
    store.sweep(short).await.unwrap();
    let fence = toolhost_store::Cancellation {
        call: nested("o", 4).call,
        ..cancellation("c", "x", None)
    };
    store.cancel(fence).await.unwrap();
    let found = store.nested("c".parse().unwrap(), "o".parse().unwrap());
    let begun = |number: u32| NestedCall {
        number,
        record: NestedRecord::Begun(nested("o", number).digest),
    };
    let tombstone = NestedCall {
        number: 4,
        record: NestedRecord::Tombstone,
    };
    assert_eq!(
        found.await.unwrap(),
        [begun(1), begun(2), tombstone, begun(10), begun(300)]
    );
}

pub(crate) async fn only_a_call_with_an_unknown_outcome_runs_again(store: &dyn Store) {
    let resume = async |id: &str| store.resume(call("c", id)).await.unwrap();
    assert_eq!(resume("new").await, Begun::New);
    assert_eq!(resume("new").await, Begun::Running);
    crate::suite::run(store, "c", "ended").await;
    assert!(matches!(resume("ended").await, Begun::Ended(_)));
    let unknown = EndedCall {
        state: CallState::Unknown,
        ..ended("c", "unknown")
    };
    store.end(unknown.clone()).await.unwrap();
    let other = NewCall {
        digest: [2; 32],
        ..call("c", "unknown")
    };
    assert_eq!(store.resume(other).await.unwrap(), Begun::Mismatch);
    assert_eq!(resume("unknown").await, Begun::New);
    assert_eq!(begin(store, "c", "unknown").await, Begun::Running);
    store.end(unknown).await.unwrap();
    store
        .cancel(cancellation("c", "unknown", None))
        .await
        .unwrap();
    assert_eq!(resume("unknown").await, Begun::Cancelled);
}
