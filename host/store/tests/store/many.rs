//! Tests of lists of more calls than one page looks at.

use toolhost_store::{CallQuery, CallState, Durability, Sqlite, Store};

use crate::sqlite::open;
use crate::values::ended;

/// The number of calls: more than one page looks at, and fewer than two pages do.
const CALLS: usize = 6_000;

async fn filled(store: &Sqlite) {
    for id in 0..CALLS {
        store.end(ended("c", &id.to_string())).await.unwrap();
    }
}

/// A filter that matches no call, or only the oldest, needs several pages, and each looks at a bounded number of calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_looks_at_a_bounded_number_of_calls() {
    let base = tempfile::tempdir().unwrap();
    for store in [
        open(&base.path().join("state"), Durability::Host).unwrap(),
        Sqlite::in_memory().unwrap(),
    ] {
        filled(&store).await;
        let of_chat = || CallQuery::of_chat("c".parse().unwrap(), 50);
        let of_all = || CallQuery {
            chat: None,
            ..of_chat()
        };
        let found = async |mut query: CallQuery| {
            let (mut pages, mut calls) = (0, Vec::new());
            loop {
                let page = store.calls(query.clone()).await.unwrap();
                pages += 1;
                assert!(
                    page.next
                        .is_none_or(|next| query.before.is_none_or(|before| next < before))
                );
                calls.extend(page.calls.into_iter().map(|call| call.call.to_string()));
                match page.next {
                    Some(next) => query.before = Some(next),
                    None => return (pages, calls),
                }
            }
        };
        for base in [of_chat(), of_all()] {
            let nothing = [
                CallQuery {
                    states: Some([CallState::Failed].into()),
                    ..base.clone()
                },
                CallQuery {
                    tool: Some("grep".into()),
                    ..base.clone()
                },
                CallQuery {
                    since_ms: Some(u64::MAX),
                    ..base.clone()
                },
                CallQuery {
                    visible: Some(["grep".to_owned()].into()),
                    ..base.clone()
                },
                CallQuery {
                    text: Some("nowhere".into()),
                    ..base.clone()
                },
            ];
            for query in nothing {
                let text = format!("{query:?}");
                assert_eq!(found(query).await, (2, Vec::new()), "{text}");
            }
            let oldest = CallQuery {
                text: Some("echo 7\"".into()),
                ..base.clone()
            };
            assert_eq!(found(oldest).await, (2, vec!["7".to_owned()]));
        }
        let other = CallQuery {
            prefix: "d".into(),
            ..of_all()
        };
        assert_eq!(found(other).await, (2, Vec::new()));
        let (pages, calls) = found(of_chat()).await;
        assert_eq!((pages, calls.len()), (CALLS / 50, CALLS));
        assert!(calls.first().unwrap() == "5999" && calls.last().unwrap() == "0");
    }
}

/// A page of a search for a text also ends after a bounded number of bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_searches_a_bounded_number_of_bytes() {
    let store = Sqlite::in_memory().unwrap();
    for id in 0..10 {
        let mut large = ended("c", &id.to_string());
        large.outcome = "x".repeat(6 << 20);
        store.end(large).await.unwrap();
    }
    let mut query = CallQuery {
        text: Some("xy".into()),
        ..CallQuery::of_chat("c".parse().unwrap(), 50)
    };
    let mut pages = 0;
    loop {
        let page = store.calls(query.clone()).await.unwrap();
        assert_eq!(page.calls, []);
        pages += 1;
        match page.next {
            Some(next) => query.before = Some(next),
            None => break,
        }
    }
    assert_eq!(pages, 4);
}
