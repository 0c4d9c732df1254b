//! The cost of the sandbox of commands: `cargo bench -p toolhost --bench sandbox`.
//!
//! Hosts whose commands have a sandbox or none are measured in turns, so that a machine that becomes slower does so for all.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost_core::{Arguments, CallId, Host, Request};
use toolhost_local::process::{Config, Spawner};
use toolhost_sandbox::{Mode, Network, Policy};

/// How many calls of a host are measured before it is the turn of the next.
const IN_A_ROW: usize = 20;

/// How many turns are measured.
const TURNS: usize = 50;

/// How many chats make their first command, to see what a sandbox costs to make.
const CHATS: usize = 50;

struct Measured {
    name: &'static str,
    host: Host,
    first: Vec<Duration>,
    next: Vec<Duration>,
}

async fn start(name: &'static str, workspace: &Path, sandbox: Policy) -> Measured {
    let program = Path::new(env!("CARGO_BIN_EXE_toolhost"));
    let config = Config {
        spawner: Some(Spawner::start_without_cgroup(program).expect("the spawner starts")),
        sandbox,
        ..Config::new(workspace)
    };
    let builder = Host::builder(workspace).processes(config);
    Measured {
        name,
        host: builder.start().await.expect("the host starts"),
        first: Vec::new(),
        next: Vec::new(),
    }
}

/// Runs `true` and returns how long that took.
async fn timed(host: &Host, chat: &str) -> Duration {
    let arguments = json!({ "command": "true" }).to_string();
    let request = Request::new(
        chat.parse().expect("it is a chat id"),
        CallId::random(),
        "execute",
        Arguments::parse(&arguments).expect("they are arguments"),
    );
    let begun = Instant::now();
    let outcome = host.call(request).await.expect("the host takes the call");
    let time = begun.elapsed();
    assert!(!outcome.is_error(), "{outcome:?}");
    time
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    *times.get(times.len() / 2).expect("there are some")
}

async fn measure(hosts: &mut [Measured]) {
    for chat in 0..CHATS {
        for one in &mut *hosts {
            let time = timed(&one.host, &format!("first-{chat}")).await;
            one.first.push(time);
        }
    }
    for _ in 0..TURNS {
        for one in &mut *hosts {
            for _ in 0..IN_A_ROW {
                one.next.push(timed(&one.host, "bench").await);
            }
        }
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
        let policy = |mode, network| Policy {
            mode,
            network,
            ..Policy::default()
        };
        let plain = Policy {
            no_namespaces: true,
            ..Policy::default()
        };
        let mut hosts = [
            start("off", base.path(), policy(Mode::Off, Network::All)).await,
            start("workspace, Landlock and seccomp", base.path(), plain).await,
            start(
                "workspace, with namespaces",
                base.path(),
                policy(Mode::Workspace, Network::All),
            )
            .await,
            start(
                "read-only, no network, with namespaces",
                base.path(),
                policy(Mode::ReadOnly, Network::None),
            )
            .await,
        ];
        measure(&mut hosts).await;
        println!("`execute true`: medians of {CHATS} first calls of chats, and of {TURNS} turns of {IN_A_ROW} calls:");
        let mut base = None;
        for one in &mut hosts {
            let (first, next) = (median(&mut one.first), median(&mut one.next));
            let (base_first, base_next) = *base.get_or_insert((first, next));
            println!(
                "  {:<38} first {first:>7.1?} ({:4.2})   next {next:>7.1?} ({:4.2})",
                one.name,
                first.as_secs_f64() / base_first.as_secs_f64(),
                next.as_secs_f64() / base_next.as_secs_f64(),
            );
        }
        for one in &hosts {
            one.host.shutdown().await;
        }
    });
}
