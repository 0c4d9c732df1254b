//! The part of the suite that is about pages of calls and chats.

use std::time::Duration;

use toolhost_store::{
    Begun, CallQuery, CallState, ChatQuery, ChatsAfter, EndedCall, Limits, Store,
};

use crate::suite::{begin, run};
use crate::values::{cancellation, ended, limits};

pub(crate) async fn calls_are_listed(store: &dyn Store) {
    for id in 0..10 {
        run(store, "c", &id.to_string()).await;
        run(store, "d-1", &id.to_string()).await;
    }
    let failed = EndedCall {
        state: CallState::Failed,
        cancelled: false,
        ..ended("c", "failed")
    };
    store.end(failed).await.unwrap();
    let of = |chat: &str| CallQuery::of_chat(chat.parse().unwrap(), 4);
    let ids = async |query: CallQuery| -> Vec<String> {
        let page = store.calls(query).await.unwrap();
        let calls = page.calls.iter();
        calls.map(|call| call.call.to_string()).collect()
    };
    let page = store.calls(of("c")).await.unwrap();
    let first = &page.calls[1];
    assert_eq!(first.call.as_str(), "9");
    assert_eq!(first.arguments_bytes, Some(20));
    assert_eq!(first.outcome_bytes, Some(12));
    assert_eq!(first.began_ms, 1_700_000_000_000);
    assert!(first.ended_ms.unwrap() > first.began_ms);
    assert_eq!(ids(of("c")).await, ["failed", "9", "8", "7"]);
    let before = page.next;
    assert_eq!(
        ids(CallQuery { before, ..of("c") }).await,
        ["6", "5", "4", "3"]
    );
    // The last page says that it is the last, even if it is full.
    for (limit, is_last) in [(10, false), (11, true), (12, true)] {
        let all = CallQuery { limit, ..of("c") };
        assert_eq!(store.calls(all).await.unwrap().next.is_none(), is_last);
    }
    let states = Some([CallState::Failed, CallState::Running].into());
    assert_eq!(ids(CallQuery { states, ..of("c") }).await, ["failed"]);
    let call = Some("4".parse().unwrap());
    let one = |chat| CallQuery {
        call: call.clone(),
        chat,
        ..of("c")
    };
    assert_eq!(ids(one(None)).await, ["4", "4"]);
    assert_eq!(ids(one(Some("d-1".parse().unwrap()))).await, ["4"]);
    let began = 1_700_000_000_000;
    for (since_ms, until_ms, count) in [
        (Some(began), Some(began), 0),
        (Some(began), Some(began + 1), 4),
        (None, Some(began), 0),
        (Some(began + 1), None, 0),
    ] {
        let query = CallQuery {
            since_ms,
            until_ms,
            ..of("c")
        };
        assert_eq!(ids(query).await.len(), count);
    }
    let text = Some("echo 5".into());
    assert_eq!(ids(CallQuery { text, ..of("c") }).await, ["5"]);
    let text = Some("outcome of 6".into());
    assert_eq!(ids(CallQuery { text, ..of("c") }).await, ["6"]);
    assert!(
        ids(CallQuery {
            tool: Some("grep".into()),
            ..of("c")
        })
        .await
        .is_empty()
    );
    assert!(
        ids(CallQuery {
            since_ms: Some(u64::MAX),
            ..of("c")
        })
        .await
        .is_empty()
    );
    assert!(ids(of("nobody")).await.is_empty());
    let all = CallQuery {
        chat: None,
        prefix: "d-".into(),
        ..of("c")
    };
    assert_eq!(ids(all).await, ["9", "8", "7", "6"]);
}

/// A search looks for the text itself, and for its form in a JSON string.
pub(crate) async fn texts_are_found(store: &dyn Store) {
    let say = |id: &str, said: &str| EndedCall {
        outcome: serde_json::json!({ "content": said }).to_string(),
        ..ended("c", id)
    };
    store.end(say("quoted", "say \"ä\"\n")).await.unwrap();
    store.end(say("plain", "say nothing")).await.unwrap();
    for (text, expected) in [
        ("say", &["plain", "quoted"][..]),
        ("\"ä\"\n", &["quoted"]),
        ("{\"content\":\"say n", &["plain"]),
        ("SAY", &[]),
        ("%", &[]),
        ("'; DROP TABLE calls", &[]),
    ] {
        let query = CallQuery {
            text: Some(text.into()),
            ..CallQuery::of_chat("c".parse().unwrap(), 9)
        };
        let found = store.calls(query).await.unwrap().calls;
        let found: Vec<_> = found.iter().map(|call| call.call.as_str()).collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// A caller that may use some tools sees their calls. No query returns tombstones, or calls whose outcomes are no longer kept.
pub(crate) async fn calls_of_other_tools_are_not_listed(store: &dyn Store) {
    run(store, "c", "own").await;
    let mut other = ended("c", "other");
    other.call.tool = "grep".into();
    store.end(other).await.unwrap();
    store
        .cancel(cancellation("c", "tombstone", None))
        .await
        .unwrap();
    assert_eq!(begin(store, "c", "running").await, Begun::New);
    let seen = async |visible: Option<&[&str]>| -> Vec<String> {
        let tools = |tools: &[&str]| tools.iter().map(|tool| (*tool).to_owned()).collect();
        let query = CallQuery {
            visible: visible.map(tools),
            ..CallQuery::of_chat("c".parse().unwrap(), 9)
        };
        let page = store.calls(query).await.unwrap();
        let calls = page.calls.iter();
        calls.map(|call| call.call.to_string()).collect()
    };
    assert_eq!(seen(None).await, ["running", "other", "own"]);
    assert_eq!(seen(Some(&["execute"])).await, ["running", "own"]);
    assert_eq!(seen(Some(&["grep", "'"])).await, ["other"]);
    assert_eq!(seen(Some(&[])).await, [""; 0]);
    let nothing = Limits {
        keep: Duration::ZERO,
        keep_per_chat: 0,
        ..limits()
    };
    store.sweep(nothing).await.unwrap();
    assert_eq!(seen(None).await, ["running"]);
}

pub(crate) async fn chats_are_listed(store: &dyn Store) {
    for chat in ["a-1", "a-2", "a-3", "b-1", "b-2"] {
        run(store, chat, "1").await;
    }
    let busy = [("a-3", 1), ("b-1", 2), ("c-new", 3)];
    let busy = busy.map(|(chat, running)| (chat.parse().unwrap(), running));
    let list = async |prefix: &str, after: Option<(bool, &str)>, limit| {
        let query = ChatQuery {
            prefix: prefix.to_owned(),
            busy: busy.clone().into(),
            after: after.map(|(busy, chat)| ChatsAfter {
                busy,
                chat: chat.parse().unwrap(),
            }),
            limit,
        };
        let page = store.chats(query).await.unwrap();
        let chats = page.chats.iter();
        let chats: Vec<_> = chats
            .map(|chat| format!("{} {}", chat.chat, chat.running))
            .collect();
        let next = page.next.map(|next| (next.busy, next.chat.to_string()));
        (chats.join(", "), next)
    };
    let after = |busy, chat: &str| Some((busy, chat.to_owned()));
    let all = "a-3 1, b-1 2, c-new 3, a-1 0, a-2 0, b-2 0";
    assert_eq!(list("", None, 9).await, (all.into(), None));
    assert_eq!(list("", None, 6).await, (all.into(), None));
    let of_a = "a-3 1, a-1 0, a-2 0";
    assert_eq!(list("a", None, 9).await, (of_a.into(), None));
    let page = list("", None, 1).await;
    assert_eq!(page, ("a-3 1".into(), after(true, "a-3")));
    let page = list("", Some((true, "a-3")), 3).await;
    assert_eq!(page, ("b-1 2, c-new 3, a-1 0".into(), after(false, "a-1")));
    let page = list("", Some((false, "a-1")), 1).await;
    assert_eq!(page, ("a-2 0".into(), after(false, "a-2")));
    let page = list("", Some((false, "a-2")), 2).await;
    assert_eq!(page, ("b-2 0".into(), None));
    let query = ChatQuery {
        busy: busy.clone().into(),
        limit: 9,
        ..ChatQuery::default()
    };
    let chats = store.chats(query).await.unwrap().chats;
    assert_eq!((chats[2].principal.as_str(), chats[2].used_ms), ("", None));
    assert_eq!(chats[3].principal, "token");
    assert_eq!(chats[3].used_ms, Some(1_700_000_000_000));
}
