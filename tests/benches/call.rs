//! The cost of a call, next to its cost without Toolhost: `cargo bench --bench call`, with the parts `trivial`, `command`,
//! `chats`, `scripts` and `tasks` behind `--`, and `--quick` for a tenth of everything.
//!
//! Compared values are measured in turns, so that a machine that becomes slower does so for all.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, fails by panicking, and starts the programs that it compares with"
)]

#[path = "call/bare.rs"]
mod bare;
mod bubblewrap;
mod connection;
#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
mod hosts;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod server;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod system;
#[path = "../scripts/tasks.rs"]
mod tasks;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_artifacts::SCRIPT;
use toolhost_core::{CallId, Grants, Host, Options};
use toolhost_guests::WORD_COUNT;
use toolhost_local::process::Spawner;
use toolhost_plugin::Limits;
use toolhost_workspace::process::Kind;

use bare::Bare;
use bubblewrap::{bubblewrap, run};
use connection::Connection;
use hosts::{call, host, program, request, spawner};
use report::{Report, median, time};
use system::{Busy, switches, switches_since};
use tasks::Cost;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A command, as the body of a call over HTTP.
const EXECUTE: &str = r#"{"tool":"execute","arguments":{"command":"true"}}"#;

/// What a program without Toolhost would do. The standard library calls `posix_spawn`.
fn spawn() -> Duration {
    let begun = Instant::now();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().expect("there is a shell");
    assert!(status.success());
    begun.elapsed()
}

fn timed(runtime: &Runtime, host: &Host, tool: &str) -> Duration {
    runtime.block_on(call(host, "bench", tool, &arguments(tool)))
}

fn arguments(tool: &str) -> Value {
    match tool {
        "execute" => json!({ "command": "true" }),
        "word_count" => json!({ "text": "a b" }),
        _ => json!({}),
    }
}

fn started(runtime: &Runtime, base: &Path, spawner: Option<Spawner>) -> Host {
    let options = guest::limited("trivial", Limits::default());
    let builder = host(base, spawner)
        .plugin(guest::guest("well_behaved"), options)
        .plugin(
            WORD_COUNT.to_vec(),
            guest::limited("word_count", Limits::default()),
        );
    runtime.block_on(builder.start()).expect("the host starts")
}

/// A trivial call, next to what wasmtime alone needs for the same.
fn trivial(report: &mut Report, runtime: &Runtime, host: &Host) {
    let bare = runtime.block_on(Bare::new(&guest::guest("well_behaved")));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..report.rounds(200) {
        // Some calls in a row, as neither is seldom called just once.
        ours.extend((0..20).map(|_| timed(runtime, host, "t")));
        theirs.extend((0..20).map(|_| {
            let bare = bare.clone();
            let task = runtime.spawn(async move { bare.call().await });
            runtime.block_on(task).expect("the call does not panic")
        }));
    }
    report.pair(
        "a trivial call, in process",
        median(&mut ours),
        "wasmtime, instantiate and call, pooled, no limits",
        median(&mut theirs),
    );
}

/// A plugin with one tool in Rust, next to the least that the contract asks of a component: one written by hand, which answers with
/// a constant.
fn in_rust(report: &mut Report, runtime: &Runtime, host: &Host) {
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..report.rounds(200) {
        ours.extend((0..20).map(|_| timed(runtime, host, "word_count")));
        least.extend((0..20).map(|_| timed(runtime, host, "t")));
    }
    report.pair(
        "`word_count` in Rust, in process",
        median(&mut ours),
        "a component written by hand that answers with a constant",
        median(&mut least),
    );
}

/// How often the threads of the host wait for each call.
fn waits(report: &mut Report, runtime: &Runtime, host: &Host) {
    for (name, tool) in [("a trivial call", "t"), ("`execute true`", "execute")] {
        let rounds = report.rounds(1000);
        let host = host.clone();
        let before = switches(std::process::id());
        let task = runtime.spawn(async move {
            for _ in 0..rounds {
                let request = request("bench", tool, &arguments(tool));
                let outcome = host.call(request).await.expect("the host takes the call");
                assert!(!outcome.is_error(), "{outcome:?}");
            }
        });
        runtime.block_on(task).expect("the calls do not panic");
        let all = switches_since(&before, &switches(std::process::id()));
        let each = all as f64 / rounds as f64;
        let measure = format!("voluntary context switches of the host, {name}, in process");
        report.value(&measure, format!("{each:.1}"));
    }
}

/// A command in process and over HTTP, next to a plain one.
fn command(report: &mut Report, runtime: &Runtime, base: &Path) {
    let cgroup = Spawner::start(program()).expect("the spawner starts");
    let kinds = [Some(spawner()), Some(cgroup), None];
    let hosts = kinds.map(|spawner| {
        let kind = spawner.as_ref().map(|spawner| spawner.containment().kind);
        let kind = kind.unwrap_or(Kind::ProcessGroup);
        (kind, started(runtime, base, spawner))
    });
    let directory = hosts::directory(base);
    let mut serve = server::toolhost(&directory, "serve", None);
    serve.args(["--shell", "sh"]);
    let server = server::Server::start(serve, "execute");
    let mut connection = Connection::open(&server.address);
    let bubblewrap = bubblewrap(&directory);
    for (load, busy) in [
        ("quiet", None),
        ("beside two busy loops", Some(Busy::start)),
    ] {
        let _busy = busy.map(|start| start());
        let (mut theirs, mut confined) = (Vec::new(), Vec::new());
        let mut ours = [const { Vec::new() }; 3];
        let mut http = Vec::new();
        for _ in 0..report.rounds(1000) {
            theirs.push(spawn());
            confined.push(run(&bubblewrap));
            for ((_, host), times) in hosts.iter().zip(&mut ours) {
                times.push(timed(runtime, host, "execute"));
            }
            let id = CallId::random();
            let begun = Instant::now();
            connection.call("bench", id.as_str(), EXECUTE);
            http.push(begun.elapsed());
        }
        let theirs = median(&mut theirs);
        let peer = "`posix_spawn` of `sh -c true`";
        for ((kind, _), times) in hosts.iter().zip(&mut ours) {
            // Where no cgroup is delegated, the second host has supervisors alone as well.
            let measure = format!("`execute true`, in process, {kind}, {load}");
            report.pair(&measure, median(times), peer, theirs);
        }
        let http = median(&mut http);
        report.pair(&format!("`execute true`, HTTP, {load}"), http, peer, theirs);
        let measure = format!("`execute true`, HTTP, against bubblewrap, {load}");
        let peer = "`bwrap … sh -c true`";
        report.pair(&measure, http, peer, median(&mut confined));
    }
    for (_, host) in hosts {
        runtime.block_on(host.shutdown());
    }
}

/// Chats that each run a command at once, again and again.
fn chats(report: &mut Report, runtime: &Runtime, host: &Host) {
    const CHATS: usize = 64;
    let commands = report.rounds(40) * CHATS;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..report.rounds(10) {
        let begun = Instant::now();
        let each = (0..CHATS).map(|chat| {
            let host = host.clone();
            runtime.spawn(async move {
                let command = json!({ "command": "true" });
                for _ in 0..commands / CHATS {
                    call(&host, &format!("chat-{chat}"), "execute", &command).await;
                }
            })
        });
        let each: Vec<_> = each.collect();
        runtime.block_on(join_all(each));
        ours.push(begun.elapsed());
        let begun = Instant::now();
        let script = format!("seq {commands} | xargs -P {CHATS} -I_ sh -c true");
        let status = Command::new("sh").args(["-c", &script]).status();
        assert!(status.expect("there is xargs").success());
        theirs.push(begun.elapsed());
    }
    let rate = |times: &mut [Duration]| commands as f64 / median(times).as_secs_f64();
    let (ours, theirs) = (rate(&mut ours), rate(&mut theirs));
    report.compare(
        "`true` from 64 chats at once, in process",
        &format!("{ours:.0}/s"),
        &format!("`xargs -P 64` of `sh -c true`: {theirs:.0}/s"),
        ours / theirs,
    );
}

/// Scripts: the start of one, and what each of its calls costs, next to the same call without a script.
fn scripts(report: &mut Report, runtime: &Runtime, base: &Path) {
    let options = Options {
        grants: Grants::default().with_calls(["*"]),
        ..Options::new("script")
    };
    let builder = host(base, None)
        .plugin(
            guest::guest("well_behaved"),
            guest::limited("trivial", Limits::default()),
        )
        .plugin(SCRIPT, options);
    let host = runtime.block_on(builder.start()).expect("the host starts");
    let run = |code: &str| {
        let begun = Instant::now();
        runtime.block_on(call(&host, "bench", "run_script", &json!({ "code": code })));
        begun.elapsed()
    };
    run("return 1");
    let mut starts: Vec<_> = (0..report.rounds(300)).map(|_| run("return 1")).collect();
    let mut direct: Vec<_> = (0..report.rounds(300))
        .map(|_| timed(runtime, &host, "t"))
        .collect();
    let start = median(&mut starts);
    report.pair(
        "a script that returns 1, in process",
        start,
        "a trivial call",
        median(&mut direct),
    );
    let code = "for (let i = 0; i < 1000; i++) await tools.t({}); return 1";
    let mut nested: Vec<_> = (0..report.rounds(20))
        .map(|_| run(code).saturating_sub(start) / 1000)
        .collect();
    report.pair(
        "each of 1,000 trivial calls of a script, one after the other",
        median(&mut nested),
        "a trivial call",
        median(&mut direct),
    );
    runtime.block_on(host.shutdown());
}

/// Twenty tasks, each by a script next to calls one after the other: what passes through the context of a model, and the time.
fn scripts_for_tasks(report: &mut Report, runtime: &Runtime, base: &Path) {
    let workspace = hosts::directory(base);
    let builder = hosts::host_in(&hosts::directory(base), &workspace, Some(spawner()));
    let started = tasks::plugins(builder).start();
    let host = runtime.block_on(started).expect("the host starts");
    let shown = |Cost { calls, bytes, .. }: Cost, took: Duration| {
        let plural = if calls == 1 { "" } else { "s" };
        format!("{bytes} bytes in {calls} call{plural}, {}", time(took))
    };
    let (mut all, mut of_all) = ([Cost::default(); 2], [Duration::ZERO; 2]);
    for task in tasks::all() {
        let mut costs = [Cost::default(); 2];
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..report.rounds(10) {
            let by_script = runtime.block_on(task.by_script(&host, &workspace));
            let directly = runtime.block_on(task.directly(&host, &workspace));
            assert_eq!(by_script.answer, directly.answer, "{}", task.name);
            assert_eq!(by_script.files, directly.files, "{}", task.name);
            costs = [by_script.cost, directly.cost];
            for (times, cost) in times.iter_mut().zip(costs) {
                times.push(cost.time);
            }
        }
        let took = times.each_mut().map(|times| median(times));
        for at in 0..2 {
            all[at].calls += costs[at].calls;
            all[at].bytes += costs[at].bytes;
            of_all[at] += took[at];
        }
        let measure = format!("by a script: {}", task.name);
        report.compare(
            &measure,
            &shown(costs[0], took[0]),
            &format!("by calls: {}", shown(costs[1], took[1])),
            costs[0].bytes as f64 / costs[1].bytes as f64,
        );
    }
    report.compare(
        "by scripts: all twenty tasks",
        &shown(all[0], of_all[0]),
        &format!("by calls: {}", shown(all[1], of_all[1])),
        all[0].bytes as f64 / all[1].bytes as f64,
    );
    runtime.block_on(host.shutdown());
}

fn main() {
    let mut report = Report::new();
    let runtime = Runtime::new().expect("there are threads");
    let base = tempfile::tempdir().expect("there is a place");
    let host = started(&runtime, base.path(), Some(spawner()));
    let warm = timed(&runtime, &host, "execute");
    println!("the first command took {}", time(warm));
    if report.chosen("trivial") {
        trivial(&mut report, &runtime, &host);
        in_rust(&mut report, &runtime, &host);
        waits(&mut report, &runtime, &host);
    }
    if report.chosen("command") {
        command(&mut report, &runtime, base.path());
    }
    if report.chosen("chats") {
        chats(&mut report, &runtime, &host);
    }
    if report.chosen("scripts") {
        scripts(&mut report, &runtime, base.path());
    }
    if report.chosen("tasks") {
        scripts_for_tasks(&mut report, &runtime, base.path());
    }
    runtime.block_on(host.shutdown());
}
