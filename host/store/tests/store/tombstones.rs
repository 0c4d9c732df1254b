//! The part of the suite that is about cancellations.

use toolhost_store::{Begun, CallState, CancelAnswer, EndedCall, NewCall, Store};

use crate::suite::begin;
use crate::values::{call, cancellation, ended};

pub(crate) async fn a_cancelled_call_does_not_run(store: &dyn Store) {
    assert_eq!(
        store.cancel(cancellation("c", "1", None)).await.unwrap(),
        CancelAnswer::Tombstone(None)
    );
    assert_eq!(begin(store, "c", "1").await, Begun::Cancelled);
    assert_eq!(begin(store, "c", "2").await, Begun::New);
    let known = store.cancel(cancellation("c", "2", None)).await.unwrap();
    assert!(matches!(known, CancelAnswer::Known(call) if call.state == CallState::Running));
    // While the call runs, a repeat waits for its end. Afterwards, repeats are refused.
    assert_eq!(begin(store, "c", "2").await, Begun::Running);
    store.end(ended("c", "2")).await.unwrap();
    assert_eq!(begin(store, "c", "2").await, Begun::Cancelled);
    for id in ["3", "4", "5"] {
        assert_eq!(
            store.cancel(cancellation("c", id, None)).await.unwrap(),
            CancelAnswer::Tombstone(None)
        );
    }
    assert_eq!(
        store.cancel(cancellation("c", "6", None)).await.unwrap(),
        CancelAnswer::TooMany
    );
    assert_eq!(
        store.cancel(cancellation("c", "5", None)).await.unwrap(),
        CancelAnswer::Tombstone(None)
    );
    assert_eq!(
        store.cancel(cancellation("d", "6", None)).await.unwrap(),
        CancelAnswer::Tombstone(None)
    );
}

pub(crate) async fn tombstones_are_for_tools(store: &dyn Store) {
    store
        .cancel(cancellation("c", "1", Some(&["read_file"])))
        .await
        .unwrap();
    let both = store
        .cancel(cancellation("c", "1", Some(&["grep"])))
        .await
        .unwrap();
    assert!(matches!(both, CancelAnswer::Tombstone(Some(tools)) if tools.len() == 2));
    let stopped = NewCall {
        tool: "grep".into(),
        ..call("c", "1")
    };
    assert_eq!(store.begin(stopped).await.unwrap(), Begun::Cancelled);
    assert_eq!(begin(store, "c", "1").await, Begun::New);
    assert_eq!(
        store
            .cancel(cancellation("c", "1", Some(&["grep"])))
            .await
            .unwrap(),
        CancelAnswer::Foreign
    );
    assert_eq!(begin(store, "c", "1").await, Begun::Running);
}

pub(crate) async fn a_call_may_end_where_a_tombstone_is(store: &dyn Store) {
    store
        .cancel(cancellation("c", "1", Some(&["other"])))
        .await
        .unwrap();
    store.end(ended("c", "1")).await.unwrap();
    let Begun::Ended(call) = begin(store, "c", "1").await else {
        panic!("the call has ended");
    };
    assert_eq!(call.tool, "execute");
    let cancelled = EndedCall {
        cancelled: true,
        ..ended("c", "2")
    };
    store.end(cancelled).await.unwrap();
    assert_eq!(begin(store, "c", "2").await, Begun::Cancelled);
}
