//! The cost of keeping calls and processes in a store: `cargo bench -p toolhost --bench stored`.
//!
//! Hosts are measured in turns, so that a machine that becomes slower does so for all: one with a store that forgets everything at once,
//! and one for each durability. A number behind `--` is how many calls are then made to see whether the memory grows.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails by panicking"
)]

mod connection;
#[path = "stored/forgetful.rs"]
mod forgetful;
#[path = "../guest.rs"]
mod guest;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_call::call::Durability;
use toolhost_core::{Arguments, CallId, Host, Request};
use toolhost_http::Listener;
use toolhost_http::access::{Access, Token};
use toolhost_local::process::{Config, Spawner};
use toolhost_plugin::Limits;
use toolhost_server::serve;
use toolhost_state::state_dir::StateDir;
use toolhost_store::HostState;

use connection::{Connection, TOKEN};
use forgetful::Forgetful;
use guest::{guest, limited};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many calls of a host are measured before it is the turn of the next. A server is seldom asked just once.
const IN_A_ROW: usize = 20;

/// How many turns are measured.
const TURNS: usize = 50;

/// How many clients call over HTTP at once.
const CLIENTS: usize = 16;

/// How many calls each of them makes in a turn.
const CALLS: usize = 250;

/// How many of their turns are measured.
const TURNS_OF_CLIENTS: usize = 9;

struct Measured {
    name: &'static str,
    host: Host,
    /// Where it answers over HTTP.
    address: String,
    trivial: Vec<Duration>,
    execute: Vec<Duration>,
    rates: Vec<f64>,
}

async fn start(name: &'static str, workspace: &Path, state: HostState) -> Measured {
    let mut config = Config::new(workspace);
    let program = Path::new(env!("CARGO_BIN_EXE_toolhost"));
    config.spawner = Some(Spawner::start_without_cgroup(program).expect("the spawner starts"));
    let builder = Host::builder(workspace)
        .processes(config)
        .durability(state.durability())
        .state(state)
        .plugin(guest("well_behaved"), limited("trivial", Limits::default()));
    let host = builder.start().await.expect("the host starts");
    let any = "127.0.0.1:0".parse().expect("it is an address");
    let listener = Listener::tcp(any, None).await.expect("there is a port");
    let address = listener.address().expect("it has an address").to_string();
    let access = Access {
        tokens: Token::new(TOKEN).expect("it is a token").into(),
        hosts: Vec::new(),
        origins: Vec::new(),
    };
    tokio::spawn(serve(
        vec![listener],
        host.clone(),
        access,
        std::future::pending(),
    ));
    Measured {
        name,
        host,
        address,
        trivial: Vec::new(),
        execute: Vec::new(),
        rates: Vec::new(),
    }
}

async fn call(host: &Host, chat: &str, tool: &str, arguments: &Value) {
    let request = Request::new(
        chat.parse().expect("it is a chat id"),
        CallId::random(),
        tool,
        Arguments::parse(&arguments.to_string()).expect("they are arguments"),
    );
    let outcome = host.call(request).await.expect("the host takes the call");
    assert!(!outcome.is_error(), "{outcome:?}");
}

async fn timed(host: &Host, tool: &str, arguments: &Value) -> Duration {
    let begun = Instant::now();
    call(host, "bench", tool, arguments).await;
    begun.elapsed()
}

/// Returns how many calls a second many clients together make.
fn rate(address: &str, calls: usize) -> f64 {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut connection = Connection::open(address);
                for _ in 0..calls {
                    connection.call(&format!("bench-{client}"), CallId::random().as_str());
                }
            });
        }
    });
    (CLIENTS * calls) as f64 / begun.elapsed().as_secs_f64()
}

fn median<T: PartialOrd + Copy>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|one, other| one.partial_cmp(other).expect("they are numbers"));
    *sorted.get(sorted.len() / 2).expect("there are some")
}

/// Returns the resident memory of this process in MiB.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("there is /proc");
    let resident = pages.split(' ').nth(1).expect("it is the second number");
    resident.parse::<f64>().expect("it is a number") * 4096.0 / f64::from(1 << 20)
}

async fn measure(hosts: &mut [Measured]) {
    let command = json!({ "command": "true" });
    for _ in 0..TURNS {
        for one in &mut *hosts {
            for _ in 0..IN_A_ROW {
                one.trivial.push(timed(&one.host, "t", &json!({})).await);
            }
        }
        for one in &mut *hosts {
            for _ in 0..IN_A_ROW {
                one.execute
                    .push(timed(&one.host, "execute", &command).await);
            }
        }
    }
    for _ in 0..TURNS_OF_CLIENTS {
        for one in &mut *hosts {
            one.rates.push(rate(&one.address, CALLS));
        }
    }
}

fn print(hosts: &[Measured]) {
    println!(
        "medians of {TURNS} turns of {IN_A_ROW} calls, and of {TURNS_OF_CLIENTS} turns of {CLIENTS} connections:"
    );
    let [base, ..] = hosts else { return };
    for one in hosts {
        let (trivial, execute) = (median(&one.trivial), median(&one.execute));
        let more = trivial.as_secs_f64() - median(&base.trivial).as_secs_f64();
        println!(
            "  {:<22} trivial {trivial:>8.1?} ({:+6.1} us)   execute true {execute:>8.1?} ({:+5.1} %)   {:>6.0} calls/s ({:+5.1} %)",
            one.name,
            more * 1e6,
            (execute.as_secs_f64() / median(&base.execute).as_secs_f64() - 1.0) * 100.0,
            median(&one.rates),
            (median(&one.rates) / median(&base.rates) - 1.0) * 100.0,
        );
    }
}

/// Makes many calls and prints how the memory grows.
fn grow(address: &str, calls: usize) {
    let (before, begun) = (resident(), Instant::now());
    for tenth in 1..=10 {
        rate(address, calls / 10 / CLIENTS);
        let (made, more) = (tenth * calls / 10, resident() - before);
        println!(
            "  after {made} calls: {more:+.1} MiB, {:.0?}",
            begun.elapsed()
        );
    }
}

fn main() {
    // `cargo test --benches` only wants to see that it compiles.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = Runtime::new().expect("there are threads");
    runtime.block_on(async {
        let base = tempfile::tempdir().expect("there is a place");
        let kept = |name: &str, durability| {
            let directory = StateDir::open(&base.path().join(name)).expect("it is ours");
            HostState::open(&directory, durability).expect("no other host uses it")
        };
        let forgetful = HostState::with_store(Arc::new(Forgetful), std::env::temp_dir());
        let mut hosts = [
            start("no store", base.path(), forgetful).await,
            start(
                "durability = \"host\"",
                base.path(),
                kept("host", Durability::Host),
            )
            .await,
            start(
                "durability = \"power\"",
                base.path(),
                kept("power", Durability::Power),
            )
            .await,
        ];
        measure(&mut hosts).await;
        print(&hosts);
        let calls = std::env::args().find_map(|argument| argument.parse().ok());
        if let (Some(calls), [_, kept, _]) = (calls, &hosts) {
            println!("memory, {:.1} MiB before:", resident());
            grow(&kept.address, calls);
        }
        for one in &hosts {
            one.host.shutdown().await;
        }
    });
}
