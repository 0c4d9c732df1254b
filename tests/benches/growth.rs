//! The growth of costs: `cargo bench --bench growth`, with the parts `chats`, `processes`, `plugins` and `output` behind `--`. It draws the
//! charts of `docs/performance.md`.

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

#[allow(dead_code, reason = "other benchmarks use the rest")]
mod chart;
#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
mod hosts;
#[path = "growth/output.rs"]
mod output;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod system;

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use toolhost_call::call::Actor;
use toolhost_core::{Host, Options};
use toolhost_workspace::files::FilesGrant;

use chart::{Panel, Series, chart};
use hosts::{call, host, spawner};
use report::{Report, median, time};
use system::{descriptors, family, pss, resident};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Points of a curve: what is counted, milliseconds of a call, MiB of memory.
type Points = Vec<(f64, f64, f64)>;

/// Draws a curve of times and one of memory.
fn draw(report: &Report, file: &str, axis: &str, titles: [&'static str; 2], points: &Points) {
    let curve = |title, value: fn(&(f64, f64, f64)) -> f64| {
        let points = points.iter().map(|point| (point.0, value(point)));
        Panel {
            title,
            series: vec![Series {
                name: "",
                points: points.collect(),
            }],
        }
    };
    let [times, memory] = titles;
    let panels = [
        curve(times, |point| point.1),
        curve(memory, |point| point.2),
    ];
    report.write(file, &chart(axis, &panels));
}

/// The median time of some calls.
async fn calls(host: &Host, chat: &str, tool: &str) -> Duration {
    let arguments = match tool {
        "execute" => json!({ "command": "true" }),
        _ => json!({}),
    };
    let mut times = Vec::new();
    for _ in 0..100 {
        times.push(call(host, chat, tool, &arguments).await);
    }
    median(&mut times)
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A host that has had calls from many chats, each of which keeps an outcome.
async fn chats(report: &mut Report, base: &Path) {
    let builder = host(base, None);
    let builder = builder.plugin(guest::guest("well_behaved"), guest::options("trivial"));
    let host = builder.start().await.expect("the host starts");
    let (mut points, mut made) = (Points::new(), 0);
    for count in [1, 10, 100, 1000, 10_000] {
        let count = if report.quick { count.min(1000) } else { count };
        for chat in made..count {
            call(&host, &format!("chat-{chat}"), "t", &json!({})).await;
        }
        made = count;
        let time = calls(&host, "chat-0", "t").await;
        points.push((count as f64, millis(time), mib(resident())));
    }
    growth(report, "a trivial call", "chats", &points);
    let titles = ["a trivial call, in process, ms", "memory of the host, MiB"];
    draw(
        report,
        "chats.svg",
        "chats that have called",
        titles,
        &points,
    );
    host.shutdown().await;
}

/// A host with many live processes of one chat, while another one runs a command.
async fn processes(report: &mut Report, base: &Path) {
    let spawner = spawner();
    let builder = host(base, Some(spawner.clone()));
    let host = builder.start().await.expect("the host starts");
    let idle = calls(&host, "other", "execute").await;
    println!("`execute true` before: {}", time(idle));
    let helpers = || -> u64 { family(spawner.pid()).into_iter().map(pss).sum() };
    let before = descriptors();
    let (mut points, mut made) = (Points::new(), 0);
    let mut starts = Duration::ZERO;
    let sleep = json!({ "command": "exec sleep 10000", "run_in_background": true });
    for count in [1, 10, 100, 1000, 2000] {
        let count = if report.quick { count.min(200) } else { count };
        let begun = Instant::now();
        for _ in made..count {
            call(&host, "many", "execute", &sleep).await;
        }
        starts += begun.elapsed();
        made = count;
        let time = calls(&host, "other", "execute").await;
        points.push((count as f64, millis(time), mib(resident() + helpers())));
    }
    growth(report, "`execute true`", "live processes", &points);
    let titles = [
        "`execute true`, in process, ms",
        "memory, with supervisors and commands, MiB",
    ];
    draw(report, "processes.svg", "live processes", titles, &points);
    let rate = made as f64 / starts.as_secs_f64();
    let begun = Instant::now();
    let chat = "many".parse().expect("it is an id");
    let ended = host.end_chat(&chat, &Actor::new("bench")).await;
    assert_eq!(ended.expect("they can be ended").len(), made);
    let end = time(begun.elapsed());
    let after = Instant::now();
    while descriptors() > before + 8 && after.elapsed() < Duration::from_secs(30) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let left = descriptors().saturating_sub(before);
    report.value(
        &format!("{made} live processes, started one after the other"),
        format!("{rate:.0}/s; all ended in {end}; {left} descriptors more afterwards"),
    );
    host.shutdown().await;
}

/// Hosts with many plugins, each with code of its own.
async fn plugins(report: &mut Report, base: &Path) {
    let mut points = Points::new();
    let state = hosts::directory(base).join("state");
    for count in [1, 3, 10, 30, 100, 300] {
        let count = if report.quick { count.min(30) } else { count };
        let begin = || {
            let builder = Host::builder(hosts::directory(base)).without_shell();
            let builder = builder.files(FilesGrant::None).state_dir(&state);
            (0..count).fold(builder, |builder, number| {
                let mut component = guest::guest("well_behaved");
                let hello = component.windows(5).position(|bytes| bytes == b"hello");
                let at = hello.expect("the guest says hello");
                component[at..at + 5].copy_from_slice(format!("{number:05}").as_bytes());
                builder.plugin(component, Options::new(format!("p{number}")))
            })
        };
        // The first host compiles the plugins, and the second one finds their code.
        begin()
            .start()
            .await
            .expect("the host starts")
            .shutdown()
            .await;
        let builder = begin();
        let before = resident();
        let begun = Instant::now();
        let host = builder.start().await.expect("the host starts");
        let start = begun.elapsed();
        let tool = if count == 1 { "t" } else { "p0__t" };
        let time = calls(&host, "chat", tool).await;
        println!(
            "{count} plugins: start {start:.1?}, {} a call",
            report::time(time)
        );
        points.push((
            count as f64,
            millis(start),
            mib(resident().saturating_sub(before)),
        ));
        if count == 300 || report.quick {
            let measure = format!("a trivial call with {count} plugins, in process");
            report.value(&measure, report::time(time));
        }
        host.shutdown().await;
    }
    growth(report, "start with compiled code", "plugins", &points);
    let titles = ["start with compiled code, ms", "memory more, MiB"];
    draw(report, "plugins.svg", "plugins", titles, &points);
}

/// Adds the first and the last point of a curve to the table.
fn growth(report: &mut Report, what: &str, counted: &str, points: &Points) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return;
    };
    let cell = |point: &(f64, f64, f64)| {
        let time = time(Duration::from_secs_f64(point.1 / 1e3));
        format!("{time}, {:.1} MiB", point.2)
    };
    report.compare(
        &format!("{what}, with {} {counted}", last.0),
        &cell(last),
        &format!("with {}: {}", first.0, cell(first)),
        last.1 / first.1,
    );
}

fn main() {
    let mut report = Report::new();
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("it can be raised to its maximum");
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    let base = tempfile::tempdir().expect("there is a place");
    // The memory of the first part is not that of an allocator that others have used.
    let task = async {
        if report.chosen("chats") {
            chats(&mut report, base.path()).await;
        }
        if report.chosen("plugins") {
            plugins(&mut report, base.path()).await;
        }
        if report.chosen("processes") {
            processes(&mut report, base.path()).await;
        }
        if report.chosen("output") {
            output::run(&mut report, base.path()).await;
        }
    };
    runtime.block_on(task);
}
