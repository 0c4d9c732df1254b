//! The effect of open consoles on all others: `cargo bench --bench consoles`, with `--quick` behind `--` for a tenth of everything.
//!
//! 200 readers follow `GET /v1/events` while 40 processes write output, so that every second each reader gets an event. It fails if
//! calls of another client take more than twice as long as without readers, and 25 ms more, at the 99th percentile.

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
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;
use toolhost_http::access::{Principal, Token, Tokens};

use harness::{Server, Setup, TOKEN, request};
use report::{Report, percentile, time};

/// The readers, of two tokens: one may not have more than half of all.
const READERS: usize = 200;
const OTHER: &str = "another-token-for-benchmarks";

/// The processes that write while calls are measured.
const PROCESSES: usize = 40;

/// The most that readers may cost a call of another client at the 99th percentile: so many times its time, or so much more.
const MOST_TIMES: f64 = 2.0;
const MOST_MORE: Duration = Duration::from_millis(25);

/// A server with processes that write.
async fn busy() -> (Setup, Server) {
    let setup = Setup::with(|builder| builder).await;
    let tokens = [(TOKEN, "one"), (OTHER, "other")];
    let tokens = tokens.map(|(text, name)| {
        let token = Token::new(text).expect("it is a token");
        (token, Principal::unbounded(name))
    });
    let server = Server::with_tokens(setup.host.clone(), Tokens::new(tokens)).await;
    for number in 0..PROCESSES {
        let arguments = json!({
            "command": "while :; do echo a line of output; sleep 0.5; done", "run_in_background": true,
        });
        let call = request(&format!("busy-{}", number % 8), "execute", &arguments);
        let outcome = setup.host.call(call).await.expect("the host takes it");
        assert!(!outcome.is_error(), "{outcome:?}");
    }
    (setup, server)
}

/// Follows all that runs, and counts the bytes that come.
async fn follow(server: &Server, token: &str, received: Arc<AtomicU64>) -> AbortOnDropHandle<()> {
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).await.expect("it listens");
    let head = format!(
        "GET /v1/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let mut buffer = vec![0; 64 << 10];
    let count = stream.read(&mut buffer).await.expect("it answers");
    assert!(buffer[..count].starts_with(b"HTTP/1.1 200"));
    AbortOnDropHandle::new(tokio::spawn(async move {
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            received.fetch_add(count as u64, Ordering::Relaxed);
        }
    }))
}

/// Calls a tool over HTTP for a while, one call after the other, and returns how long each took.
async fn calls(server: &Server, window: Duration) -> Vec<Duration> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < window {
        let body = json!({ "tool": "read_file", "arguments": { "path": "." } });
        let call = server.request(reqwest::Method::POST, "/v1/chats/other/calls");
        let started = Instant::now();
        let response = call.json(&body).send().await.expect("it answers");
        assert_eq!(response.status(), 200);
        _ = response.bytes().await.expect("it is whole");
        times.push(started.elapsed());
    }
    times
}

async fn consoles(report: &mut Report) {
    let window = Duration::from_secs(if report.quick { 3 } else { 30 });
    let (setup, server) = busy().await;
    // The first calls make everything warm.
    calls(&server, window / 10).await;
    let mut alone = calls(&server, window).await;
    let received = Arc::new(AtomicU64::new(0));
    let mut readers = Vec::new();
    for number in 0..READERS {
        let token = if number % 2 == 0 { TOKEN } else { OTHER };
        readers.push(follow(&server, token, Arc::clone(&received)).await);
    }
    let mut beside = calls(&server, window).await;
    assert_eq!(
        setup.host.events().stats().readers,
        READERS,
        "none has left"
    );
    drop(readers);
    // The machine may have become slower meanwhile, for both.
    alone.extend(calls(&server, window).await);
    let (alone, beside) = (percentile(&mut alone, 99), percentile(&mut beside, 99));
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    report.compare(
        &format!("a call of another client beside {READERS} open consoles, p99"),
        &time(beside),
        &format!("alone: {}", time(alone)),
        ratio,
    );
    let each = received.load(Ordering::Relaxed) / READERS as u64;
    report.value(
        &format!("an open console with {PROCESSES} processes that write, bytes per second"),
        (each / window.as_secs()).to_string(),
    );
    assert!(
        ratio <= MOST_TIMES || beside.saturating_sub(alone) <= MOST_MORE,
        "{beside:?} beside consoles, {alone:?} alone"
    );
    server.stop().await;
}

fn main() {
    let mut report = Report::new();
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    runtime.block_on(consoles(&mut report));
}
