//! The effect of hostile guests on all others: `cargo bench --bench hostile`, with the parts `p99`, `scripts`, `loops` and
//! `leak` behind `--`, and `--quick` for a tenth of everything.
//!
//! `p99` compares the calls of a well-behaved tool beside each guest with those alone, in one run, and `scripts` those beside each
//! hostile script. `loops` has 24 guests loop at once while a client asks for `/healthz`. `leak` calls one tool 100,000 times and looks
//! at memory and descriptors.

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

#[path = "../scripts/attacks.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod attacks;
#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
#[path = "../harness.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod harness;
#[path = "hostile/p99.rs"]
mod p99;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod system;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use toolhost_call::call;
use toolhost_workspace::files::FilesGrant;

use guest::{guest, options};
use harness::{Server, Setup, logged, request};
use report::{Report, percentile, time};
use system::{descriptors, resident};

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
async fn loops(report: &mut Report) {
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
    let most = times.iter().max().copied().unwrap_or_default();
    let last = ends.iter().max().copied().unwrap_or_default();
    report.compare(
        &format!("`/healthz` beside {LOOPS} guests that loop, p99"),
        &time(percentile(&mut beside, 99)),
        &format!("alone: {}", time(percentile(&mut alone, 99))),
        percentile(&mut beside, 99).as_secs_f64() / percentile(&mut alone, 99).as_secs_f64(),
    );
    report.value(
        &format!("{LOOPS} guests that loop at once, all stopped"),
        format!("after {most} ms of guest time each, {}", time(last)),
    );
    server.stop().await;
}

/// Many calls of one plugin, 8 at a time.
async fn leak(report: &mut Report, count: usize) {
    let setup = setup("well_behaved").await;
    let mut points = Vec::new();
    for tenth in 1..=10 {
        for _ in 0..count / 80 {
            let eight = (0..8).map(|_| setup.host.call(request("leak", "t", &json!({}))));
            for outcome in join_all(eight).await {
                assert!(!outcome.expect("the host takes the call").is_error());
            }
        }
        points.push(((count / 10 * tenth) as f64, resident() as f64 * 1024.0));
    }
    report.value(
        &format!("{count} calls of one plugin, memory more per call"),
        format!(
            "{:.2} bytes; {} descriptors",
            slope(&points[1..]),
            descriptors()
        ),
    );
    setup.host.shutdown().await;
}

/// The slope of the line that fits points best.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    covariance / variance
}

fn main() {
    let mut report = Report::new();
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    runtime.block_on(async {
        if report.chosen("p99") {
            p99::guests(&mut report).await;
        }
        if report.chosen("scripts") {
            p99::scripts(&mut report).await;
        }
        if report.chosen("loops") && !report.quick {
            loops(&mut report).await;
        }
        if report.chosen("leak") {
            let count = report.rounds(100_000);
            leak(&mut report, count).await;
        }
    });
}
