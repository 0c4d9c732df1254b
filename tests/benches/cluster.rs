//! The cost of a database that hosts share: `cargo bench -p toolhost --bench cluster`. PostgreSQL runs on the same machine, and syncs each
//! commit.
//!
//! Hosts with the embedded store and with the database are measured in turns. Then one, two and three hosts take as many calls as they can,
//! and the database alone takes the statements of calls, without any host: that is the limit of all hosts together on this machine.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails by panicking"
)]

#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod hosts;
#[path = "../harness/postgres.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod postgres;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
#[path = "../../host/store/tests/store/values.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod values;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_call::call::Durability;
use toolhost_core::{CallId, Host};
use toolhost_local::process::Config;
use toolhost_plugin::Limits;
use toolhost_postgres::Postgres;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{HostState, Store};

use guest::{guest, limited};
use hosts::{call, spawner};
use report::{Report, median};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many calls of a host are measured before it is the turn of the next.
const IN_A_ROW: usize = 20;

/// How many callers there are at once in all.
const CALLERS: usize = 48;

/// How many calls each of them makes in a turn.
const CALLS: usize = 50;

async fn start(workspace: &Path, state: HostState) -> Host {
    let mut config = Config::new(workspace);
    config.spawner = Some(spawner());
    let builder = Host::builder(workspace)
        .processes(config)
        .state(state)
        .plugin(guest("well_behaved"), limited("trivial", Limits::default()));
    builder.start().await.expect("the host starts")
}

async fn open(url: &str) -> Arc<Postgres> {
    let config = toolhost_postgres::Config {
        connections: 16,
        ..postgres::config(url)
    };
    Arc::new(Postgres::open(config).await.expect("the database is there"))
}

/// Returns how many calls a second these hosts take together.
async fn rate(hosts: &[Host]) -> f64 {
    let begun = Instant::now();
    join_all((0..CALLERS).map(|caller| {
        let host = hosts[caller % hosts.len()].clone();
        // The chats of a host are its own.
        let chat = format!("bench-{}-{caller}", hosts.len());
        tokio::spawn(async move {
            for _ in 0..CALLS {
                call(&host, &chat, "t", &json!({})).await;
            }
        })
    }))
    .await;
    (CALLERS * CALLS) as f64 / begun.elapsed().as_secs_f64()
}

/// Returns how many calls a second the database takes: a look-up, a beginning and an end for each, from the connections of three hosts.
async fn statements(stores: &[Arc<Postgres>]) -> f64 {
    let begun = Instant::now();
    join_all((0..CALLERS).map(|caller| {
        let store = Arc::clone(&stores[caller % stores.len()]);
        tokio::spawn(async move {
            for _ in 0..CALLS {
                let (chat, id) = (format!("statements-{caller}"), CallId::random());
                let new = values::call(&chat, id.as_str());
                let known = store.call(new.chat.clone(), id.clone()).await;
                assert!(known.expect("it is looked up").is_none());
                store.begin(new).await.expect("it begins");
                let ended = values::ended(&chat, id.as_str());
                store.end(ended).await.expect("it ends");
            }
        })
    }))
    .await;
    (CALLERS * CALLS) as f64 / begun.elapsed().as_secs_f64()
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

async fn latency(report: &mut Report, embedded: &Host, power: &Host, shared: &Host) {
    let mut times: [[Vec<Duration>; 3]; 2] = Default::default();
    let tools: [(&str, Value); 2] = [("t", json!({})), ("execute", json!({ "command": "true" }))];
    for _ in 0..report.rounds(50) {
        for (tool, (name, arguments)) in tools.iter().enumerate() {
            for (at, host) in [embedded, power, shared].into_iter().enumerate() {
                for _ in 0..IN_A_ROW {
                    times[tool][at].push(call(host, "bench", name, arguments).await);
                }
            }
        }
    }
    for (what, [embedded, power, shared]) in
        ["a trivial call", "`execute true`"].iter().zip(&mut times)
    {
        let shared = median(shared);
        let row = |peer: &str| format!("{what}, PostgreSQL and SQLite, durability = \"{peer}\"");
        report.pair(&row("host"), shared, "SQLite", median(embedded));
        report.pair(&row("power"), shared, "SQLite", median(power));
    }
}

fn main() {
    if !postgres::is_installed() {
        println!("PostgreSQL is not installed: nothing is measured");
        return;
    }
    let mut report = Report::new();
    let runtime = Runtime::new().expect("there are threads");
    runtime.block_on(async {
        let base = tempfile::tempdir().expect("there is a place");
        let server = postgres::Server::with(&[]);
        let url = server.database();
        let kept = |name: &str, durability| {
            let directory = StateDir::open(&base.path().join(name)).expect("it is ours");
            HostState::open(&directory, durability).expect("no other host uses it")
        };
        let embedded = start(base.path(), kept("host", Durability::Host)).await;
        let power = start(base.path(), kept("power", Durability::Power)).await;
        let (mut hosts, mut stores) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let store = open(&url).await;
            let own = HostState::temporary(std::env::temp_dir()).expect("there is a place");
            hosts.push(start(base.path(), own.sharing(Arc::clone(&store) as _)).await);
            stores.push(store);
        }
        latency(&mut report, &embedded, &power, &hosts[0]).await;
        let mut rates: [Vec<f64>; 4] = Default::default();
        for _ in 0..report.rounds(9) {
            for (at, rates) in rates.iter_mut().enumerate() {
                rates.push(match at {
                    3 => statements(&stores).await,
                    _ => rate(&hosts[..=at]).await,
                });
            }
        }
        let [one, two, three, database] = rates.map(middle);
        let limit = format!("the database alone: {database:.0}/s");
        for (hosts, rate) in [
            ("one host", one),
            ("two hosts", two),
            ("three hosts", three),
        ] {
            let measure = format!("calls, {CALLERS} callers, {hosts}");
            report.compare(&measure, &format!("{rate:.0}/s"), &limit, rate / database);
        }
        for host in hosts.iter().chain([&embedded, &power]) {
            host.shutdown().await;
        }
    });
}
