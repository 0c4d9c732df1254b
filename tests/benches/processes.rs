//! What a process costs, next to what it would cost without Toolhost, in one run: `cargo bench --bench processes`, with
//! `-- --quick` for a tenth of everything.
//!
//! It prints three tables: the time of `true`, the throughput of a flood of output with the memory that it takes, and a
//! thousand processes that live at once. What is compared is measured in turns, so that a machine that becomes slower does
//! so for both.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, fails by panicking, and starts the programs that it compares with"
)]

#[path = "processes/measure.rs"]
mod measure;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::process::Command as Direct;
use toolhost_local::process::{Config, Limits, Process, Registry, SaveLimits, Spawner};
use toolhost_store::HostState;
use toolhost_workspace::process::{Command, Kind, State, WaitOptions, Wake};

use measure::{children, descriptors, forget_peak, kib, peak, percentile, resident};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How much of everything is measured.
struct Scale {
    pairs: usize,
    small_flood: u64,
    large_flood: u64,
    live: usize,
}

impl Scale {
    fn new(quick: bool) -> Self {
        if quick {
            Self {
                pairs: 100,
                small_flood: 128 * MIB,
                large_flood: 512 * MIB,
                live: 100,
            }
        } else {
            Self {
                pairs: 1000,
                small_flood: GIB,
                large_flood: 4 * GIB,
                live: 1000,
            }
        }
    }
}

/// Opens a registry.
async fn registry(workspace: &Path, spawner: Option<Spawner>, cap: Option<u64>) -> Arc<Registry> {
    let limits = Limits {
        live_per_chat: 10_000,
        ..Limits::default()
    };
    let defaults = SaveLimits::default();
    let save_limits = SaveLimits {
        per_process: cap.unwrap_or(defaults.per_process),
        ..defaults
    };
    let config = Config {
        limits,
        save_limits,
        spawner,
        ..Config::new(workspace)
    };
    let state = HostState::temporary(std::env::temp_dir()).expect("there is memory");
    let opened = Registry::open(config, &state).await;
    opened.expect("a registry opens")
}

async fn start(registry: &Arc<Registry>, command: &str) -> Arc<Process> {
    let command = Command {
        command: command.into(),
        ..Command::default()
    };
    registry.start(None, command).await.expect("it starts")
}

async fn run(registry: &Arc<Registry>, command: &str) -> Arc<Process> {
    let process = start(registry, command).await;
    let options = WaitOptions {
        timeout: Duration::from_secs(600),
        ..WaitOptions::default()
    };
    let waited = process.wait(&options).await.expect("the wait is valid");
    assert_eq!(waited.wake, Wake::Ended);
    let code = process.state().exit_status().and_then(|exit| exit.code);
    assert_eq!(code, Some(0), "{:?}", process.state());
    process
}

/// What a program without Toolhost would do: spawn a shell, wait for it, and collect its output.
async fn run_directly(command: &str) {
    let output = Direct::new("/bin/sh").args(["-c", command]).output().await;
    assert!(output.expect("there is a shell").status.success());
}

/// From the start of `true` to the snapshot of its end, through each containment and without any.
async fn latency(workspace: &Path, spawner: &Spawner, cgroup: Option<&Spawner>, pairs: usize) {
    let mut kinds = vec![
        ("process group", registry(workspace, None, None).await),
        (
            "supervisor",
            registry(workspace, Some(spawner.clone()), None).await,
        ),
    ];
    if let Some(spawner) = cgroup {
        let registry = registry(workspace, Some(spawner.clone()), None).await;
        kinds.push(("supervisor and cgroup", registry));
    }
    let mut direct = Vec::new();
    let mut ours = vec![Vec::new(); kinds.len()];
    for round in 0..pairs + 10 {
        let begun = Instant::now();
        run_directly("true").await;
        let time = begun.elapsed();
        // The first rounds only make everything warm.
        let counts = round >= 10;
        direct.extend(counts.then_some(time));
        for ((_, registry), times) in kinds.iter().zip(&mut ours) {
            let begun = Instant::now();
            run(registry, "true").await.snapshot().await;
            let time = begun.elapsed();
            times.extend(counts.then_some(time));
        }
    }
    println!("\n`true` from start to end, {pairs} rounds in turns:");
    let row = |name: &str, times: &mut [Duration], base: (Duration, Duration)| {
        let (p50, p99) = (percentile(times, 50), percentile(times, 99));
        let ratio = |time: Duration, base: Duration| time.as_secs_f64() / base.as_secs_f64();
        println!(
            "  {name:<34} p50 {p50:>9.1?} ({:.2})  p99 {p99:>9.1?} ({:.2})",
            ratio(p50, base.0),
            ratio(p99, base.1)
        );
    };
    let base = (percentile(&mut direct, 50), percentile(&mut direct, 99));
    row("sh -c true directly (the baseline)", &mut direct, base);
    for ((name, _), times) in kinds.iter().zip(&mut ours) {
        row(name, times, base);
    }
    for (_, registry) in kinds {
        registry.shutdown().await;
    }
}

/// A flood of zeros through capture, and what the host's memory does meanwhile.
async fn flood(workspace: &Path, spawner: &Spawner, size: u64) {
    const ROUNDS: usize = 3;
    let command = format!("head -c {size} /dev/zero");
    let registries = [
        (
            "saved to 64 MiB",
            registry(workspace, Some(spawner.clone()), None).await,
        ),
        (
            "not saved",
            registry(workspace, Some(spawner.clone()), Some(0)).await,
        ),
    ];
    let mut direct = Vec::new();
    let mut ours = [(Vec::new(), 0), (Vec::new(), 0)];
    for (_, registry) in &registries {
        run(registry, "head -c 10000000 /dev/zero").await;
    }
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        run_directly(&format!("{command} | cat >/dev/null")).await;
        direct.push(begun.elapsed());
        for ((_, registry), (times, growth)) in registries.iter().zip(&mut ours) {
            forget_peak();
            let before = resident();
            let begun = Instant::now();
            let process = run(registry, &command).await;
            times.push(begun.elapsed());
            assert_eq!(process.info().total, size);
            *growth = peak().saturating_sub(before).max(*growth);
        }
    }
    println!(
        "\n{} MiB of zeros, the median of {ROUNDS} in turns:",
        size / MIB
    );
    let base = percentile(&mut direct, 50);
    let row = |name: &str, time: Duration, note: &str| {
        let rate = size as f64 / MIB as f64 / time.as_secs_f64();
        let ratio = time.as_secs_f64() / base.as_secs_f64();
        println!("  {name:<34} {time:>9.1?} ({ratio:.2}), {rate:>6.0} MiB/s{note}");
    };
    row("into cat >/dev/null (the baseline)", base, "");
    for ((name, _), (times, growth)) in registries.iter().zip(&mut ours) {
        let note = format!(", host memory at most {growth} KiB more");
        row(name, percentile(times, 50), &note);
    }
    for (_, registry) in registries {
        registry.shutdown().await;
    }
}

/// Many processes that live at once: what each takes, and how long starting, listing and ending all of them takes.
async fn crowd(workspace: &Path, spawner: &Spawner, live: usize) {
    let registry = registry(workspace, Some(spawner.clone()), None).await;
    run(&registry, "true").await;
    let (fds, memory) = (descriptors(), resident());
    let begun = Instant::now();
    for _ in 0..live {
        start(&registry, "exec sleep 1000").await;
    }
    let started = begun.elapsed();
    let (fds_live, memory_live) = (descriptors(), resident());
    let supervisors = children(spawner.pid());
    let of_all = |name| -> u64 {
        let each = supervisors.iter();
        each.map(|pid| kib(&format!("/proc/{pid}/smaps_rollup"), name))
            .sum()
    };
    let (pss, private) = (
        of_all("Pss"),
        of_all("Private_Dirty") + of_all("Private_Clean"),
    );
    let begun = Instant::now();
    let (_, total) = registry.list(None, true, 50);
    let listed = begun.elapsed();
    assert_eq!(total, live);
    let begun = Instant::now();
    let ended = registry.end_chat(None).await;
    let end = begun.elapsed();
    assert!(ended.len() == live && ended.iter().all(|info| info.state == State::Running));
    let begun = Instant::now();
    while (descriptors() > fds || !children(spawner.pid()).is_empty())
        && begun.elapsed() < Duration::from_secs(30)
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let each = |sum: u64| sum as f64 / live as f64;
    println!("\n{live} live processes, `exec sleep 1000`:");
    println!(
        "  started in {started:.1?}: {:.0} per second, one after the other",
        live as f64 / started.as_secs_f64()
    );
    println!(
        "  host memory {memory} KiB before, {memory_live} KiB with all: {:.1} KiB each",
        each(memory_live.saturating_sub(memory))
    );
    println!(
        "  {} supervisors: {:.0} KiB PSS each, of which {:.0} KiB private",
        supervisors.len(),
        each(pss),
        each(private)
    );
    println!("  the list of the first 50 took {listed:.1?}");
    println!("  all ended in {end:.1?}");
    println!(
        "  descriptors: {fds} before, {fds_live} with all, {} after",
        descriptors()
    );
    registry.shutdown().await;
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    // `cargo test --benches` only wants to see that it is there: it has nothing that takes no time.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let scale = Scale::new(arguments.iter().any(|argument| argument == "--quick"));
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("it can be raised to its maximum");
    let workspace = tempfile::tempdir().expect("there is a place for a workspace");
    let program = Path::new(env!("CARGO_BIN_EXE_toolhost"));
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    // All that runs below the spawners ends with them, also if something here fails.
    let spawner = Spawner::start_without_cgroup(program).expect("the program is there");
    let cgroup = Spawner::start(program).expect("the program is there");
    let containment = cgroup.containment();
    if let Some(reason) = &containment.reason {
        println!("not measured: commands with a cgroup, as {reason}");
    }
    let cgroup = (containment.kind == Kind::Cgroup).then_some(&cgroup);
    runtime.block_on(async {
        latency(workspace.path(), &spawner, cgroup, scale.pairs).await;
        flood(workspace.path(), &spawner, scale.small_flood).await;
        flood(workspace.path(), &spawner, scale.large_flood).await;
        crowd(workspace.path(), &spawner, scale.live).await;
    });
}
