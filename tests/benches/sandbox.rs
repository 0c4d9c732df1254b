//! The cost of the sandbox of commands: `cargo bench -p toolhost --bench sandbox`.
//!
//! Hosts whose commands have a sandbox or none, and bubblewrap, are measured in turns, so that a machine that becomes slower does so for
//! all. All of them run `sh`. The host that is compared with bubblewrap has every limit, a store and an audit trail.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

mod bubblewrap;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod hosts;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod system;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost_core::Host;
use toolhost_local::process::Config;
use toolhost_sandbox::{Mode, Network, Policy};
use toolhost_workspace::process::Shell;

use bubblewrap::{bubblewrap, run};
use hosts::{call, host, spawner};
use report::{Report, median};
use system::Busy;

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
        shell: Some(Shell::Sh),
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

/// How many chats are new at once, and how many commands each of them runs.
const CHATS: usize = 64;
const OF_EACH: usize = 12;

/// Runs as many commands in bubblewrap at once as there are new chats, until there are as many as those run.
fn many(bubblewrap: &[String]) -> Duration {
    let all = format!(
        "seq {} | xargs -P {CHATS} -I NUMBER {}",
        CHATS * OF_EACH,
        bubblewrap.join(" ")
    );
    let all = all.replace("sh -c true", "sh -c : NUMBER");
    run(&["sh".to_owned(), "-c".to_owned(), all])
}

/// Runs the commands of new chats at once.
async fn many_chats(host: &Host, name: &str) -> Duration {
    let command = json!({ "command": "true" });
    let chats = (0..CHATS).map(|chat| {
        let (host, command, chat) = (host.clone(), command.clone(), format!("{name}-{chat}"));
        tokio::spawn(async move {
            for _ in 0..OF_EACH {
                call(&host, &chat, "execute", &command).await;
            }
        })
    });
    let begun = Instant::now();
    for chat in chats.collect::<Vec<_>>() {
        chat.await.expect("the calls do not panic");
    }
    begun.elapsed()
}

/// Measures chats of a host against bubblewrap, which makes namespaces for each command.
async fn against_bubblewrap(report: &mut Report, host: &Host, bubblewrap: &[String], how: &str) {
    let command = json!({ "command": "true" });
    let (mut first, mut next, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let name = |round| format!("{how}-{round}").replace(' ', "-");
    for round in 0..report.rounds(50) {
        let chat = name(round);
        first.push(call(host, &chat, "execute", &command).await);
        theirs.push(run(bubblewrap));
        for _ in 0..IN_A_ROW {
            next.push(call(host, &chat, "execute", &command).await);
            theirs.push(run(bubblewrap));
        }
    }
    let (mut at_once, mut of_xargs) = (Vec::new(), Vec::new());
    for round in 0..report.rounds(10) {
        at_once.push(many_chats(host, &name(round)).await);
        of_xargs.push(many(bubblewrap));
    }
    let theirs = median(&mut theirs);
    let peer = "`bwrap … sh -c true`";
    report.pair(
        &format!("`execute true` in the sandbox, {how}"),
        median(&mut next),
        peer,
        theirs,
    );
    let measure = format!("`execute true` in the sandbox, {how}, the first call of a chat");
    report.pair(&measure, median(&mut first), peer, theirs);
    let (ours, theirs) = (median(&mut at_once), median(&mut of_xargs));
    let rate = |time: Duration| format!("{:.0}/s", (CHATS * OF_EACH) as f64 / time.as_secs_f64());
    report.compare(
        &format!("{CHATS} new chats at once, {OF_EACH} `execute true` each, {how}"),
        &rate(ours),
        &format!("`xargs -P {CHATS} bwrap …`: {}", rate(theirs)),
        theirs.as_secs_f64() / ours.as_secs_f64(),
    );
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
        let host = host(base.path(), Some(spawner())).start().await;
        let host = host.expect("the host starts");
        let bubblewrap = bubblewrap(base.path());
        against_bubblewrap(&mut report, &host, &bubblewrap, "quiet").await;
        let busy = Busy::start();
        against_bubblewrap(&mut report, &host, &bubblewrap, "beside two busy loops").await;
        drop(busy);
        host.shutdown().await;
    });
}
