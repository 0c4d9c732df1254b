//! The cost of keeping calls and processes in a store: `cargo bench -p toolhost --bench stored`.
//!
//! Hosts are measured in turns, so that a machine that becomes slower does so for all: one with a store that forgets everything at once,
//! and one for each durability.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails by panicking"
)]

#[allow(dead_code, reason = "other benchmarks use the rest")]
mod connection;
#[path = "stored/forgetful.rs"]
mod forgetful;
#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod hosts;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost_call::call::Durability;
use toolhost_core::{CallId, Host};
use toolhost_http::Listener;
use toolhost_http::access::{Access, Token};
use toolhost_local::process::Config;
use toolhost_plugin::Limits;
use toolhost_server::serve;
use toolhost_state::state_dir::StateDir;
use toolhost_store::HostState;

use connection::{Connection, TOKEN};
use forgetful::Forgetful;
use guest::{guest, limited};
use hosts::{call, spawner};
use report::{Report, median};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many calls of a host are measured before it is the turn of the next. A server is seldom asked just once.
const IN_A_ROW: usize = 20;

/// How many clients call over HTTP at once.
const CLIENTS: usize = 16;

/// How many calls each of them makes in a turn.
const CALLS: usize = 250;

const TRIVIAL: &str = r#"{"tool":"t","arguments":{}}"#;

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
    config.spawner = Some(spawner());
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
        ..Access::default()
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

/// Returns how many calls a second many clients together make.
fn rate(address: &str, calls: usize) -> f64 {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut connection = Connection::open(address);
                for _ in 0..calls {
                    // Ids of clients are in no order. Reversed, an id begins with its random digits.
                    let id: String = CallId::random().as_str().chars().rev().collect();
                    connection.call(&format!("bench-{client}"), &id, TRIVIAL);
                }
            });
        }
    });
    (CLIENTS * calls) as f64 / begun.elapsed().as_secs_f64()
}

async fn measure(report: &Report, hosts: &mut [Measured]) {
    let command = json!({ "command": "true" });
    for _ in 0..report.rounds(50) {
        for one in &mut *hosts {
            for _ in 0..IN_A_ROW {
                let time = call(&one.host, "bench", "t", &json!({})).await;
                one.trivial.push(time);
            }
        }
        for one in &mut *hosts {
            for _ in 0..IN_A_ROW {
                let time = call(&one.host, "bench", "execute", &command).await;
                one.execute.push(time);
            }
        }
    }
    for _ in 0..report.rounds(9) {
        for one in &mut *hosts {
            one.rates.push(rate(&one.address, CALLS));
        }
    }
}

fn rows(report: &mut Report, hosts: &mut [Measured]) {
    let mut measured = hosts.iter_mut().map(|one| {
        one.rates.sort_by(f64::total_cmp);
        let rate = one.rates.get(one.rates.len() / 2).copied();
        let rate = rate.expect("there are some");
        (
            one.name,
            median(&mut one.trivial),
            median(&mut one.execute),
            rate,
        )
    });
    let (_, trivial, execute, rate) = measured.next().expect("there is one without a store");
    for (name, one, command, calls) in measured {
        let row = |what: &str| format!("{what}, {name}");
        report.pair(&row("a trivial call"), one, "without a store", trivial);
        report.pair(&row("`execute true`"), command, "without a store", execute);
        let peer = format!("without a store: {rate:.0}/s");
        let measure = row(&format!("trivial calls, HTTP, {CLIENTS} connections"));
        report.compare(&measure, &format!("{calls:.0}/s"), &peer, calls / rate);
    }
}

fn main() {
    let mut report = Report::new();
    let runtime = Runtime::new().expect("there are threads");
    runtime.block_on(async {
        let base = tempfile::tempdir().expect("there is a place");
        let kept = |name: &str, durability| {
            let directory = StateDir::open(&base.path().join(name)).expect("it is ours");
            HostState::open(&directory, durability).expect("no other host uses it")
        };
        let forgetful = HostState::on(Arc::new(Forgetful), std::env::temp_dir());
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
        measure(&report, &mut hosts).await;
        rows(&mut report, &mut hosts);
        for one in &hosts {
            one.host.shutdown().await;
        }
    });
}
