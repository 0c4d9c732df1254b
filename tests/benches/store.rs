//! The costs of the store: a call, a start with many ids, and lists. Run with `cargo bench -p toolhost-store`.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and a failure ends it"
)]

#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use std::sync::Arc;
use std::time::{Duration, Instant};

use report::{Report, median, time};
use toolhost_state::state_dir::StateDir;
use toolhost_store::{
    Begun, CallQuery, CallState, Cancellation, Durability, EndedCall, NewCall, Sqlite, Store,
};

/// How many calls are measured at a time.
const CALLS: u64 = 2_000;

/// How many times they are measured.
const RUNS: u64 = 7;

fn call(chat: u64, number: u64) -> NewCall {
    NewCall {
        chat: format!("chat-{chat}").parse().unwrap(),
        call: format!("toolu_{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .parse()
            .unwrap(),
        tool: "execute".into(),
        principal: "bench".into(),
        digest: [7; 32],
        arguments: None,
        began_ms: 1_700_000_000_000 + number,
    }
}

fn ended(call: NewCall) -> EndedCall {
    let outcome = format!(
        r#"{{"id":"{}","tool":"execute","state":"finished","content":[{{"type":"text","text":"hi"}}]}}"#,
        call.call
    );
    let state = CallState::Finished;
    EndedCall {
        call,
        state,
        outcome,
        cancelled: false,
    }
}

/// Asks for a call and runs it, as the ledger does.
async fn run(store: &Sqlite, chat: u64, number: u64) {
    let NewCall {
        chat: name,
        call: id,
        ..
    } = call(chat, number);
    assert_eq!(store.call(name, id).await.unwrap(), None);
    assert_eq!(store.begin(call(chat, number)).await.unwrap(), Begun::New);
    store.end(ended(call(chat, number))).await.unwrap();
}

/// Returns the mean time of a call in the store.
async fn cost(store: &Sqlite, from: u64) -> Duration {
    let mut times = Vec::new();
    for run in 0..RUNS {
        let started = Instant::now();
        for number in 0..CALLS {
            self::run(store, number % 8, from + run * CALLS + number).await;
        }
        times.push(started.elapsed() / u32::try_from(CALLS).unwrap());
    }
    median(&mut times)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut report = Report::new();
    let many = report.rounds(2_200_000) as u64;
    let base = tempfile::tempdir().unwrap();
    let state = StateDir::open(&base.path().join("state")).unwrap();
    let store = Sqlite::open(&state, Durability::Host).unwrap();
    let empty = cost(&store, 0).await;
    let store = Arc::new(store);
    let tasks = (0..64).map(|task| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for number in (task..many).step_by(64) {
                let NewCall {
                    chat,
                    call,
                    principal,
                    ..
                } = call(100 + number % 1000, (2 << 40) + number);
                store
                    .cancel(Cancellation {
                        chat,
                        call,
                        principal,
                        tools: None,
                        most: u64::MAX,
                    })
                    .await
                    .unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    report.pair(
        &format!("a call in the store beside {many} tombstones: look up, begin, end"),
        cost(&store, 1 << 50).await,
        "in an empty store",
        empty,
    );
    drop(store);
    let mut starts = Vec::new();
    for _ in 0..3 {
        let started = Instant::now();
        let store = Sqlite::open(&state, Durability::Host).unwrap();
        store.interrupt().await.unwrap();
        starts.push(started.elapsed());
    }
    let start = time(median(&mut starts));
    report.value(&format!("opening a store with {many} tombstones"), start);
    let store = Arc::new(Sqlite::open(&state, Durability::Host).unwrap());
    let million = many.min(1_000_000);
    let tasks = (0..64).map(|task| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for number in (task..million).step_by(64) {
                store.end(ended(call(5, (3 << 50) + number))).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let of_chat = || CallQuery::of_chat("chat-5".parse().unwrap(), 50);
    let of_all = || CallQuery {
        chat: None,
        ..of_chat()
    };
    let nowhere = |query| CallQuery {
        text: Some("nowhere".into()),
        ..query
    };
    let failed = |query| CallQuery {
        states: Some([CallState::Failed].into()),
        ..query
    };
    let mut lists = Vec::new();
    for (name, query, found) in [
        ("of a chat", of_chat(), 50),
        ("of all chats", of_all(), 50),
        ("that lacks a failed call", failed(of_all()), 0),
        ("that lacks a text", nowhere(of_all()), 0),
    ] {
        let mut times = Vec::new();
        for _ in 0..25 {
            let started = Instant::now();
            let page = store.calls(query.clone()).await.unwrap();
            times.push(started.elapsed());
            assert_eq!(page.calls.len(), found, "{name}");
        }
        lists.push(format!("{} {name}", time(median(&mut times))));
    }
    let measure = format!("a page of 50 from {million} calls");
    report.value(&measure, lists.join("; "));
}
