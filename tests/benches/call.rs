//! What a call costs, next to what it would cost without Toolhost, in one run: `cargo bench`.
//!
//! The first part is criterion's. The second prints two tables that criterion cannot: pairs that are measured in turns, so
//! that a machine that becomes slower does so for both, and calls beside guests that loop for ever.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, fails by panicking, and starts the programs that it compares with"
)]

#[path = "../guest.rs"]
mod guest;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::Criterion;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_call::audit::{self, Audit};
use toolhost_call::call::Durability;
use toolhost_call::metrics::Metrics;
use toolhost_core::{Arguments, CallId, Host, Request};
use toolhost_local::process::{Config, Spawner};
use toolhost_plugin::Limits;
use toolhost_state::state_dir::StateDir;
use toolhost_workspace::process::Kind;

use guest::{guest, limited};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many rounds are measured.
const ROUNDS: usize = 1000;

/// The program that the spawner is.
const PROGRAM: &str = env!("CARGO_BIN_EXE_toolhost");

fn request(tool: &str, arguments: &Value) -> Request {
    Request::new(
        "bench".parse().expect("it is a chat id"),
        CallId::random(),
        tool,
        Arguments::parse(&arguments.to_string()).expect("they are arguments"),
    )
}

async fn call(host: &Host, tool: &str, arguments: &Value) {
    let outcome = host
        .call(request(tool, arguments))
        .await
        .expect("the host takes the call");
    assert!(!outcome.is_error(), "{outcome:?}");
}

/// Returns how long a call takes for a task of the runtime, as a server's are: a thread outside of it waits for two more threads to
/// be woken.
fn timed(runtime: &Runtime, host: &Host, tool: &'static str, arguments: &Value) -> Duration {
    let (host, arguments) = (host.clone(), arguments.clone());
    let task = runtime.spawn(async move {
        let begun = Instant::now();
        call(&host, tool, &arguments).await;
        begun.elapsed()
    });
    runtime.block_on(task).expect("the call does not panic")
}

/// What a program without Toolhost would do: spawn a shell, wait for it, and collect its output.
fn spawn_directly() {
    let output = Command::new("/bin/sh")
        .args(["-c", "true"])
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    assert!(output.status.success());
}

fn criterion_part(runtime: &Runtime, host: &Host) {
    let mut criterion = Criterion::default().configure_from_args();
    let nothing = json!({});
    let command = json!({ "command": "true" });
    criterion.bench_function("instantiate and call a trivial tool", |bencher| {
        bencher.iter_custom(|times| {
            (0..times)
                .map(|_| timed(runtime, host, "trivial__t", &nothing))
                .sum()
        });
    });
    criterion.bench_function("execute true, end to end in process", |bencher| {
        bencher.iter_custom(|times| {
            (0..times)
                .map(|_| timed(runtime, host, "execute", &command))
                .sum()
        });
    });
    criterion.bench_function("spawn sh -c true directly", |bencher| {
        bencher.iter(spawn_directly)
    });
    criterion.final_summary();
}

struct Times(Vec<Duration>);

impl Times {
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        sorted
            .get((sorted.len() - 1) * percent / 100)
            .copied()
            .unwrap_or_default()
    }
}

fn row(name: &str, times: &Times) {
    println!(
        "  {name:<44} p50 {:>9.1?}  p99 {:>9.1?}",
        times.percentile(50),
        times.percentile(99)
    );
}

/// Starts a host whose commands are held together in this way. It keeps its calls in a store and has an audit trail, as a server does.
fn host(runtime: &Runtime, base: &Path, spawner: Option<Spawner>) -> Host {
    let base = tempfile::tempdir_in(base).expect("there is a place").keep();
    let workspace = base.join("workspace");
    std::fs::create_dir(&workspace).expect("it is ours");
    let metrics = Metrics::default();
    let trail = StateDir::open(&base.join("audit")).expect("it is ours");
    let audit = Audit::open(trail, &audit::Config::default(), &metrics).expect("it is ours");
    runtime.block_on(async {
        let mut config = Config::new(&workspace);
        config.spawner = spawner;
        let builder = Host::builder(&workspace)
            .processes(config)
            .keep(base.join("state"))
            .expect("it is ours")
            .durability(Durability::Host)
            .metrics(metrics)
            .audit(audit);
        let builder = builder.plugin(guest("well_behaved"), limited("trivial", Limits::default()));
        let builder = builder.plugin(guest("trap"), limited("other", Limits::default()));
        builder.start().await.expect("the host starts")
    })
}

fn spawner() -> Spawner {
    Spawner::start_without_cgroup(Path::new(PROGRAM)).expect("the spawner starts")
}

fn in_turns(runtime: &Runtime, workspace: &Path) {
    let command = json!({ "command": "true" });
    let cgroup = Spawner::start(Path::new(PROGRAM)).expect("the spawner starts");
    let mut ours = Vec::new();
    for spawner in [Some(spawner()), Some(cgroup), None] {
        let containment = spawner.as_ref().map(|spawner| spawner.containment().kind);
        let name = containment.unwrap_or(Kind::ProcessGroup).to_string();
        ours.push((name, host(runtime, workspace, spawner), Times(Vec::new())));
    }
    let mut theirs = Times(Vec::new());
    for _ in 0..ROUNDS {
        for (_, host, times) in &mut ours {
            times.0.push(timed(runtime, host, "execute", &command));
        }
        let begun = Instant::now();
        spawn_directly();
        theirs.0.push(begun.elapsed());
    }
    println!("\n{ROUNDS} rounds, measured in turns:");
    row("spawn sh -c true directly", &theirs);
    for (name, host, times) in ours {
        row(&format!("execute true, {name}"), &times);
        let ratio = times.percentile(50).as_secs_f64() / theirs.percentile(50).as_secs_f64();
        println!("    ratio of the medians: {ratio:.2}");
        runtime.block_on(host.shutdown());
    }
}

/// Ten calls at a time, with this many guests that loop for ever beside them.
fn beside_loops(runtime: &Runtime, loops: usize) {
    let workspace = tempfile::tempdir().expect("there is a place for a workspace");
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
        ..Limits::default()
    };
    let host = runtime.block_on(async {
        let builder = Host::builder(workspace.path()).spawner(spawner());
        let builder = builder.plugin(guest("well_behaved"), limited("trivial", Limits::default()));
        builder
            .plugin(guest("endless_loop"), limited("looping", limits))
            .start()
            .await
            .expect("the host starts")
    });
    for _ in 0..loops {
        let host = host.clone();
        runtime.spawn(async move { host.call(request("looping__t", &json!({}))).await });
    }
    println!("\nten calls at a time beside {loops} guests that loop for ever:");
    for (tool, arguments) in [
        ("trivial__t", json!({})),
        ("execute", json!({ "command": "true" })),
    ] {
        let mut times = Times(Vec::new());
        for _ in 0..50 {
            let ten = (0..10).map(|_| async {
                let begun = Instant::now();
                call(&host, tool, &arguments).await;
                begun.elapsed()
            });
            times.0.extend(runtime.block_on(join_all(ten)));
        }
        row(tool, &times);
    }
    runtime.block_on(host.shutdown());
}

fn main() {
    let runtime = Runtime::new().expect("there are threads");
    let workspace = tempfile::tempdir().expect("there is a place for a workspace");
    let host = host(&runtime, workspace.path(), Some(spawner()));
    criterion_part(&runtime, &host);
    // `cargo test --benches` and `cargo bench -- --test` only want to see that it runs.
    if std::env::args().any(|argument| argument == "--bench")
        && !std::env::args().any(|argument| argument == "--test")
    {
        in_turns(&runtime, workspace.path());
        for loops in [0, 1, 3] {
            beside_loops(&runtime, loops);
        }
    }
    runtime.block_on(host.shutdown());
}
