//! The cost of the sandbox of commands: `cargo bench -p toolhost --bench sandbox`.
//!
//! Hosts whose commands have a sandbox or none are measured in turns, so that a machine that becomes slower does so for all.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

#[allow(dead_code, reason = "other benchmarks use the rest")]
mod hosts;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost_core::Host;
use toolhost_local::process::Config;
use toolhost_sandbox::{Mode, Network, Policy};

use hosts::{call, spawner};
use report::{Report, median};

/// How many calls of a host are measured before it is the turn of the next.
const IN_A_ROW: usize = 20;

struct Measured {
    name: &'static str,
    host: Host,
    first: Vec<Duration>,
    next: Vec<Duration>,
}

async fn start(name: &'static str, workspace: &Path, sandbox: Policy) -> Measured {
    let config = Config {
        spawner: Some(spawner()),
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

async fn measure(report: &Report, hosts: &mut [Measured]) {
    let command = json!({ "command": "true" });
    for chat in 0..report.rounds(50) {
        for one in &mut *hosts {
            let time = call(&one.host, &format!("first-{chat}"), "execute", &command).await;
            one.first.push(time);
        }
    }
    for _ in 0..report.rounds(50) {
        for one in &mut *hosts {
            for _ in 0..IN_A_ROW {
                one.next
                    .push(call(&one.host, "bench", "execute", &command).await);
            }
        }
    }
}

fn main() {
    let mut report = Report::new();
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
        measure(&report, &mut hosts).await;
        let mut measured = hosts
            .iter_mut()
            .map(|one| (one.name, median(&mut one.first), median(&mut one.next)));
        let (_, base_first, base_next) = measured.next().expect("there is one without a sandbox");
        for (name, first, next) in measured {
            let first_measure = format!("`execute true`, sandbox {name}, the first call of a chat");
            report.pair(&first_measure, first, "no sandbox", base_first);
            let measure = format!("`execute true`, sandbox {name}, later calls");
            report.pair(&measure, next, "no sandbox", base_next);
        }
        for one in &hosts {
            one.host.shutdown().await;
        }
    });
}
