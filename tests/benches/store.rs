//! The costs of the store: a call, a start with many ids, a list, and many threads. Run with `cargo bench -p toolhost-store`; a number
//! behind `--` is how many ids the start has.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and a failure ends it"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolhost_state::state_dir::StateDir;
use toolhost_store::{
    Begun, CallQuery, CallState, Cancellation, ChatQuery, Durability, EndedCall, NewCall, Sqlite,
    Store, StoreFile,
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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.swap_remove(times.len() / 2)
}

/// Returns the median time of a call and that of one whose beginning is not stored.
async fn cost(store: &Sqlite, from: u64) -> (Duration, Duration) {
    let (mut both, mut ends) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        let started = Instant::now();
        run(store, number % 8, from + number).await;
        both.push(started.elapsed());
        let started = Instant::now();
        store
            .end(ended(call(number % 8, from + CALLS + number)))
            .await
            .unwrap();
        ends.push(started.elapsed());
    }
    (median(both), median(ends))
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}

async fn costs(name: &str, store: &Sqlite, from: u64) {
    let (mut both, mut ends) = (Vec::new(), Vec::new());
    let started = Instant::now();
    for run in 0..RUNS {
        let (one, other) = cost(store, from + 2 * run * CALLS).await;
        both.push(one);
        ends.push(other);
    }
    let mean = started.elapsed() / u32::try_from(RUNS * CALLS).unwrap();
    println!(
        "{name}: look up, begin and end {:?}, end alone {:?}, mean of all three {mean:?}",
        median(both),
        median(ends)
    );
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let many: u64 = std::env::args()
        .filter_map(|word| word.parse().ok())
        .next()
        .unwrap_or(2_200_000);
    let base = tempfile::tempdir_in(std::env::var("BENCH_DIR").unwrap_or("/tmp".into())).unwrap();
    let state = StateDir::open(&base.path().join("state")).unwrap();
    let store = Sqlite::open(&state, Durability::Host).unwrap();
    costs("empty", &store, 0).await;

    let store = Arc::new(store);
    for threads in [1, 16] {
        let started = Instant::now();
        let tasks = (0..threads).map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for number in 0..CALLS {
                    run(
                        &store,
                        task,
                        (1 << 40) + (threads << 32) + (task << 24) + number,
                    )
                    .await;
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let each =
            threads * CALLS * 1_000_000 / u64::try_from(started.elapsed().as_micros()).unwrap();
        println!("{threads} tasks: {each} calls/s, {:?}", store.counts());
    }

    let started = Instant::now();
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
    println!(
        "{many} tombstones: stored in {:?}, {} MiB",
        started.elapsed(),
        store.counts().bytes >> 20
    );
    costs("with them", &store, 1 << 50).await;
    drop(store);
    for _ in 0..3 {
        let (before, started) = (resident(), Instant::now());
        let store = Sqlite::open(&state, Durability::Host).unwrap();
        store.interrupt().await.unwrap();
        println!(
            "start: {:?}, {} MiB more",
            started.elapsed(),
            resident().saturating_sub(before)
        );
    }
    let store = Arc::new(Sqlite::open(&state, Durability::Host).unwrap());
    let million = many.min(1_000_000);
    let started = Instant::now();
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
    println!(
        "{million} calls of one chat: stored in {:?}, {} MiB",
        started.elapsed(),
        store.counts().bytes >> 20
    );
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
    for (name, query, found) in [
        ("50 calls of a chat", of_chat(), 50),
        ("50 calls of all chats", of_all(), 50),
        (
            "a page without a failed call of a chat",
            failed(of_chat()),
            0,
        ),
        (
            "a page without a failed call of all chats",
            failed(of_all()),
            0,
        ),
        ("a page without a text of a chat", nowhere(of_chat()), 0),
        ("a page without a text of all chats", nowhere(of_all()), 0),
    ] {
        let mut times = Vec::new();
        for _ in 0..25 {
            let started = Instant::now();
            let page = store.calls(query.clone()).await.unwrap();
            times.push(started.elapsed());
            assert_eq!(page.calls.len(), found, "{name}");
        }
        println!("{name}: {:?}", median(times));
    }
    let mut chats = Vec::new();
    for _ in 0..25 {
        let query = ChatQuery {
            limit: 50,
            ..ChatQuery::default()
        };
        let started = Instant::now();
        let page = store.chats(query).await.unwrap();
        chats.push(started.elapsed());
        assert_eq!(page.chats.len(), 50.min(many as usize));
    }
    println!("50 chats: {:?}", median(chats));
    println!("resident: {} MiB", resident());
    if std::env::var_os("BENCH_CHECK").is_some() {
        let started = Instant::now();
        let file = StoreFile::open(&state, false).unwrap().unwrap();
        let problems = file.check().unwrap();
        println!(
            "check: {:?}, {} problems",
            started.elapsed(),
            problems.len()
        );
    }
}
