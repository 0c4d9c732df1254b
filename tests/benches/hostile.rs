//! What hostile guests do to everybody else: `cargo bench --bench hostile`, with the parts `p99`, `loops` and `leak` behind
//! `--`, names of guests for the first of them, and `--quick` for a tenth of everything.
//!
//! `p99` compares the calls of a well-behaved tool beside each guest with those alone, in one run. `loops` has 24 guests loop
//! at once while a client asks for `/healthz`. `leak` calls one tool 100,000 times and looks at memory and descriptors.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, fails by panicking, and starts the programs that it compares with"
)]

#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
#[path = "../harness.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod harness;
#[path = "hostile/measure.rs"]
mod measure;
#[path = "hostile/p99.rs"]
mod p99;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use toolhost_call::call;
use toolhost_workspace::files::FilesGrant;

use guest::{guest, options};
use harness::{Server, Setup, logged, request};
use measure::{descriptors, kib, milliseconds, slope};

const PARTS: [&str; 3] = ["p99", "loops", "leak"];

async fn setup(name: &str) -> Setup {
    Setup::with(|builder| {
        let builder = builder.without_shell().files(FilesGrant::None);
        // Outcomes that are kept are no leak, but look like one.
        let builder = builder.ledger_limits(call::Limits {
            keep: Duration::ZERO,
            keep_per_chat: 1,
            tombstone: Duration::ZERO,
            tombstones_per_chat: 1,
            // Which is when it looks at the others: else only once a minute.
            bytes: 1 << 20,
            arguments: 0,
        });
        builder.plugin(guest(name), options(name))
    })
    .await
}

/// 24 guests that loop at once, in three chats, and a client that asks how the host is.
async fn loops() {
    const LOOPS: usize = 24;
    let setup = setup("endless_loop").await;
    let server = Server::start(setup.host.clone()).await;
    let ask = || async {
        let begun = Instant::now();
        let response = server.request(reqwest::Method::GET, "/healthz").send();
        assert!(response.await.expect("it answers").status().is_success());
        begun.elapsed()
    };
    let mut alone = join_all((0..100).map(|_| ask())).await;
    let mut beside = Vec::new();
    let begun = Instant::now();
    let mut ends = Vec::new();
    let log = logged(async {
        let looping = (0..LOOPS).map(|number| {
            let host = setup.host.clone();
            let chat = format!("loops{}", number % 3);
            tokio::spawn(async move {
                let call = request(&chat, "t", &json!({}));
                let outcome = host.call(call).await.expect("the host takes the call");
                let error = outcome.result.as_ref().expect_err("it never replies");
                assert!(error.message.contains("guest time limit"), "{error}");
                begun.elapsed()
            })
        });
        let looping: Vec<_> = looping.collect();
        while !looping.iter().all(tokio::task::JoinHandle::is_finished) {
            beside.push(ask().await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for looped in looping {
            ends.push(looped.await.expect("it ends"));
        }
    })
    .await;
    let times = log
        .lines()
        .filter_map(|line| line.split_once("guest_time_us="))
        .filter_map(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
    let times: Vec<_> = times.map(|time| time / 1000).collect();
    let worst = |times: &mut Vec<Duration>| milliseconds(measure::percentile(times, 100));
    println!("\n{LOOPS} guests that loop at once:\n");
    println!("| what | value |");
    println!("|---|---|");
    println!(
        "| /healthz alone, slowest of {}, ms | {} |",
        alone.len(),
        worst(&mut alone)
    );
    println!(
        "| /healthz beside them, p99, ms | {} |",
        milliseconds(measure::percentile(&mut beside, 99))
    );
    println!(
        "| /healthz beside them, slowest of {}, ms | {} |",
        beside.len(),
        worst(&mut beside)
    );
    println!(
        "| all have ended after, s | {:.1} |",
        ends.iter().max().expect("there are some").as_secs_f64()
    );
    println!("| guest time of each, ms | {times:?} |");
    server.stop().await;
}

/// Many calls of one plugin, 8 at a time.
async fn leak(count: usize) {
    let setup = setup("well_behaved").await;
    println!("\n{count} calls of one plugin:\n");
    println!("| calls | RSS, KiB | descriptors |");
    println!("|---|---|---|");
    let mut points = Vec::new();
    for tenth in 1..=10 {
        for _ in 0..count / 80 {
            let eight = (0..8).map(|_| setup.host.call(request("leak", "t", &json!({}))));
            for outcome in join_all(eight).await {
                assert!(!outcome.expect("the host takes the call").is_error());
            }
        }
        let (calls, resident) = (count / 10 * tenth, kib("VmRSS"));
        println!("| {calls} | {resident} | {} |", descriptors());
        points.push((calls as f64, resident as f64 * 1024.0));
    }
    println!(
        "\nSlope from 20 % on: {:.2} bytes per call.",
        slope(&points[1..])
    );
    setup.host.shutdown().await;
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only wants to see that it runs.
    let smoke = !arguments.iter().any(|argument| argument == "--bench")
        || arguments.iter().any(|argument| argument == "--test");
    let quick = smoke || arguments.iter().any(|argument| argument == "--quick");
    let words: Vec<_> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .cloned()
        .collect();
    let (parts, mut names): (Vec<_>, Vec<_>) = words
        .into_iter()
        .partition(|word| PARTS.contains(&word.as_str()));
    if smoke && names.is_empty() {
        names.push("trap".into());
    }
    let chosen = |part: &str| parts.is_empty() || parts.iter().any(|chosen| chosen == part);
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    runtime.block_on(async {
        if chosen("p99") {
            p99::run(
                Duration::from_millis(if quick { 300 } else { 3000 }),
                &names,
            )
            .await;
        }
        if chosen("loops") && !smoke {
            loops().await;
        }
        if chosen("leak") {
            leak(if quick { 2000 } else { 100_000 }).await;
        }
    });
}
