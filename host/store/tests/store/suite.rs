//! The suite: tests that every implementation of a store must pass. An implementation calls [`all`] with a function that makes places.

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use toolhost_store::{
    Begun, CallQuery, CallState, CallSummary, ChatQuery, EndedCall, FoundTools, Limits, NewCall,
    Store,
};

use crate::values::{call, cancellation, ended, limits};
use crate::{lookup, nested, tombstones, workspaces};

/// A place where a store keeps what it has when it is closed.
pub(crate) trait Place {
    /// Opens the store, as a new host does.
    fn open(&self) -> BoxFuture<'_, Box<dyn Store>>;

    /// Closes the store, as a host does that is killed.
    fn kill(&self, store: Box<dyn Store>) -> BoxFuture<'_, ()>;
}

/// Runs every case on a place of its own.
pub(crate) async fn all(place: impl Fn() -> Box<dyn Place>) {
    of_one_host(&place).await;
    what_ran_is_unknown_after_a_restart(&*place()).await;
    everything_is_there_after_a_restart(&*place()).await;
    workspaces::they_outlive_a_host(&*place()).await;
}

/// Runs every case that needs no restart on a place of its own.
pub(crate) async fn of_one_host(place: impl Fn() -> Box<dyn Place>) {
    an_id_runs_once(&*place().open().await).await;
    a_repeat_gets_what_came_of_it(&*place().open().await).await;
    of_many_at_once_one_begins(&*place().open().await).await;
    tombstones::a_cancelled_call_does_not_run(&*place().open().await).await;
    tombstones::tombstones_are_for_tools(&*place().open().await).await;
    tombstones::a_call_may_end_where_a_tombstone_is(&*place().open().await).await;
    a_withdrawn_call_was_never_there(&*place().open().await).await;
    nested::the_calls_of_a_call_are_listed(&*place().open().await).await;
    nested::only_a_call_with_an_unknown_outcome_runs_again(&*place().open().await).await;
    old_outcomes_go_and_ids_stay(&*place().open().await).await;
    each_chat_has_its_share(&*place().open().await).await;
    lookup::calls_are_listed(&*place().open().await).await;
    lookup::texts_are_found(&*place().open().await).await;
    lookup::calls_of_other_tools_are_not_listed(&*place().open().await).await;
    lookup::chats_are_listed(&*place().open().await).await;
    found_tools_keep_their_order_and_go_with_their_chat(&*place().open().await).await;
}

pub(crate) async fn begin(store: &dyn Store, chat: &str, id: &str) -> Begun {
    store.begin(call(chat, id)).await.unwrap()
}

pub(crate) async fn run(store: &dyn Store, chat: &str, id: &str) {
    assert_eq!(begin(store, chat, id).await, Begun::New, "{chat} {id}");
    store.end(ended(chat, id)).await.unwrap();
}

/// Adds tools to those that were found in a chat. Returns whether the list has changed.
async fn find(store: &dyn Store, chat: &str, tools: &[&str]) -> bool {
    let found = FoundTools {
        chat: chat.parse().unwrap(),
        principal: "web".to_owned(),
        tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
    };
    store.add_found_tools(found).await.unwrap()
}

async fn found(store: &dyn Store, chat: &str) -> Vec<String> {
    store.found_tools(chat.parse().unwrap()).await.unwrap()
}

async fn found_tools_keep_their_order_and_go_with_their_chat(store: &dyn Store) {
    assert!(found(store, "c").await.is_empty());
    assert!(find(store, "c", &["z", "a", "z"]).await);
    assert!(!find(store, "c", &["a"]).await, "it was found before");
    assert!(find(store, "c", &["m", "a"]).await);
    assert_eq!(found(store, "c").await, ["z", "a", "m"]);
    assert!(found(store, "d").await.is_empty());
    // Several calls find tools at the same time, and none of the tools is lost.
    let names: Vec<_> = (0..20).map(|number| number.to_string()).collect();
    let finds = names
        .iter()
        .map(async |name| find(store, "e", &[name]).await);
    assert!(
        join_all(finds)
            .await
            .into_iter()
            .all(|is_changed| is_changed)
    );
    let mut all = found(store, "e").await;
    all.sort_by_key(|name| name.parse::<u32>().unwrap());
    assert_eq!(all, names);
    let many: Vec<_> = (0..300).map(|number| number.to_string()).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert!(find(store, "e", &many).await);
    assert_eq!(found(store, "e").await.len(), FoundTools::MOST);
    // A chat that was ended begins anew.
    run(store, "c", "1").await;
    store.end_chat("c".parse().unwrap()).await.unwrap();
    assert!(found(store, "c").await.is_empty());
}

async fn an_id_runs_once(store: &dyn Store) {
    assert_eq!(begin(store, "c", "1").await, Begun::New);
    assert_eq!(begin(store, "c", "1").await, Begun::Running);
    assert_eq!(store.counts().running, 1);
    let other = NewCall {
        digest: [2; 32],
        ..call("c", "1")
    };
    assert_eq!(store.begin(other).await.unwrap(), Begun::Mismatch);
    // The same id in another chat is another call. So is a pair whose concatenation of chat and id is the same.
    assert_eq!(begin(store, "d", "1").await, Begun::New);
    assert_eq!(begin(store, "c1", "1").await, Begun::New);
    assert_eq!(begin(store, "c", "11").await, Begun::New);
}

async fn a_repeat_gets_what_came_of_it(store: &dyn Store) {
    run(store, "c", "1").await;
    let Begun::Ended(found) = begin(store, "c", "1").await else {
        panic!("it has ended");
    };
    assert_eq!(found.outcome.as_deref(), Some("outcome of 1"));
    assert_eq!(found.state, CallState::Finished);
    let looked_up = store
        .call("c".parse().unwrap(), "1".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(looked_up, Some(*found));
    // An end without a beginning also stores the call, because the beginning of a read-only call is not stored.
    store.end(ended("c", "2")).await.unwrap();
    assert!(matches!(begin(store, "c", "2").await, Begun::Ended(_)));
    assert_eq!(
        store
            .call("c".parse().unwrap(), "3".parse().unwrap())
            .await
            .unwrap(),
        None
    );
    assert_eq!(store.counts().running, 0);
}

async fn of_many_at_once_one_begins(store: &dyn Store) {
    for round in 0..20 {
        let id = format!("call-{round}");
        let begun = join_all((0..8).map(|_| begin(store, "c", &id))).await;
        let new = begun.iter().filter(|begun| **begun == Begun::New).count();
        assert_eq!(new, 1, "{begun:?}");
    }
}

async fn a_withdrawn_call_was_never_there(store: &dyn Store) {
    let name = |id: &str| ("c".parse().unwrap(), id.parse().unwrap());
    let withdraw = async |id: &str| {
        let (chat, call) = name(id);
        store.withdraw(chat, call).await.unwrap();
    };
    assert_eq!(begin(store, "c", "1").await, Begun::New);
    withdraw("1").await;
    assert_eq!(begin(store, "c", "1").await, Begun::New);
    store.cancel(cancellation("c", "1", None)).await.unwrap();
    withdraw("1").await;
    assert_eq!(begin(store, "c", "1").await, Begun::Cancelled);
    run(store, "c", "2").await;
    withdraw("2").await;
    assert!(matches!(begin(store, "c", "2").await, Begun::Ended(_)));
    assert_eq!(store.counts().running, 0);
}

async fn what_ran_is_unknown_after_a_restart(place: &dyn Place) {
    let store = place.open().await;
    assert_eq!(begin(&*store, "c", "1").await, Begun::New);
    run(&*store, "c", "2").await;
    // A host that has taken over the call may end before it has stored the end of the call.
    let mut last = store;
    for _ in 0..2 {
        place.kill(last).await;
        last = place.open().await;
        let interrupted = last.interrupt().await.unwrap();
        assert_eq!(interrupted.len(), 1);
        assert_eq!(interrupted[0].call, Some("1".parse().unwrap()));
        assert_eq!(begin(&*last, "c", "1").await, Begun::Running);
        assert_eq!(last.counts().running, 1);
    }
    let store = last;
    let unknown = EndedCall {
        state: CallState::Unknown,
        cancelled: false,
        ..ended("c", "1")
    };
    store.end(unknown).await.unwrap();
    assert!(
        matches!(begin(&*store, "c", "1").await, Begun::Ended(call) if call.state == CallState::Unknown)
    );
    assert!(store.interrupt().await.unwrap().is_empty());
    assert_eq!(store.counts().running, 0);
}

async fn everything_is_there_after_a_restart(place: &dyn Place) {
    let store = place.open().await;
    run(&*store, "c", "1").await;
    store.cancel(cancellation("c", "2", None)).await.unwrap();
    store.end_chat("c".parse().unwrap()).await.unwrap();
    assert!(find(&*store, "found", &["a"]).await);
    place.kill(store).await;
    let store = place.open().await;
    assert_eq!(found(&*store, "found").await, ["a"]);
    let chats = store
        .chats(ChatQuery {
            limit: 9,
            ..ChatQuery::default()
        })
        .await
        .unwrap();
    assert!(chats.chats[0].ended_ms.is_some());
    assert!(matches!(begin(&*store, "c", "1").await, Begun::Ended(_)));
    assert_eq!(begin(&*store, "c", "2").await, Begun::Cancelled);
    assert_eq!(begin(&*store, "c", "3").await, Begun::New);
    let chats = store
        .chats(ChatQuery {
            limit: 9,
            ..ChatQuery::default()
        })
        .await
        .unwrap();
    assert_eq!(chats.chats[0].ended_ms, None, "a call began in it");
}

async fn old_outcomes_go_and_ids_stay(store: &dyn Store) {
    for id in 0..10 {
        run(store, "c", &id.to_string()).await;
    }
    assert_eq!(begin(store, "c", "running").await, Begun::New);
    assert_eq!(store.sweep(limits()).await.unwrap().outcomes, 0);
    let short = Limits {
        keep: Duration::ZERO,
        keep_per_chat: 3,
        ..limits()
    };
    assert_eq!(store.sweep(short).await.unwrap().outcomes, 7);
    assert_eq!(begin(store, "c", "0").await, Begun::Gone);
    assert!(matches!(begin(store, "c", "9").await, Begun::Ended(_)));
    let short = Limits {
        tombstone: Duration::ZERO,
        ..limits()
    };
    assert_eq!(store.sweep(short).await.unwrap().ids, 7);
    assert_eq!(begin(store, "c", "0").await, Begun::New, "it is forgotten");
    assert_eq!(begin(store, "c", "running").await, Begun::Running);
    assert!(matches!(begin(store, "c", "9").await, Begun::Ended(_)));
}

async fn each_chat_has_its_share(store: &dyn Store) {
    let of = |principal: &str, chat: &str, id: usize| {
        let call = NewCall {
            principal: principal.into(),
            ..call(chat, &id.to_string())
        };
        EndedCall {
            call,
            ..ended(chat, "x")
        }
    };
    for id in 0..400 {
        store.end(of("flood", "busy", id)).await.unwrap();
    }
    for id in 0..20 {
        store.end(of("flood", "calm", id)).await.unwrap();
        store.end(of("other", "quiet", id)).await.unwrap();
    }
    let outcomes = async |chat: &str| {
        let calls = store
            .calls(CallQuery::of_chat(chat.parse().unwrap(), 1000))
            .await
            .unwrap();
        let kept = |call: &&CallSummary| call.outcome_bytes.is_some();
        calls.calls.iter().filter(kept).count()
    };
    let tight = Limits {
        outcome_bytes: 100 * 600,
        ..limits()
    };
    store.sweep(tight).await.unwrap();
    assert_eq!((outcomes("calm").await, outcomes("quiet").await), (20, 20));
    let busy = outcomes("busy").await;
    assert!((20..100).contains(&busy), "{busy}");
    let tight = Limits {
        ids: 60,
        ..limits()
    };
    let swept = store.sweep(tight).await.unwrap();
    assert!(swept.ids > 200, "{swept:?}");
    assert!(matches!(
        begin(store, "calm", "0").await,
        Begun::Mismatch | Begun::Ended(_)
    ));
}
