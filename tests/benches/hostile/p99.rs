//! A well-behaved tool in one chat while a hostile guest attacks in another, again and again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use toolhost_core::{Builder, Host, StartError};
use toolhost_workspace::files::FilesGrant;

use crate::guest::{guest, options};
use crate::harness::{request, shared_state, spawner};
use crate::measure::{cpu, forget_peak, kib, milliseconds, percentile};

/// What the p99 may become: twice as much, or this much more.
const MORE: Duration = Duration::from_millis(25);

/// Prints a row for each guest that loads, or for those that are named.
pub(crate) async fn run(window: Duration, only: &[String]) {
    println!(
        "\nA well-behaved tool while a guest attacks in another chat, in ms; each number is of {window:?}.\n"
    );
    println!(
        "| guest | alone p50 | p99 | beside 1 p50 | p99 | beside 4 p50 | p99 | holds | attacks | CPU s | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut names = guests();
    names.retain(|name| only.is_empty() || only.contains(name));
    let mut failed = Vec::new();
    for name in names {
        eprintln!("{name} …");
        let workspace = tempfile::tempdir().expect("there is a place for a workspace");
        let host = match builder(workspace.path(), &name).start().await {
            Ok(host) => host,
            Err(StartError::Load { .. }) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        // A first call makes everything warm.
        calls(&host, window / 10).await;
        forget_peak();
        let resident = kib("VmRSS");
        let (mut alone, mut beside) = (calls(&host, window).await, Vec::new());
        let (used, mut attacks) = (cpu(), 0);
        for at_once in [1, 4] {
            let attack = Attack::start(&host, at_once);
            beside.push(calls(&host, window).await);
            attacks += attack.stop();
        }
        let used = cpu() - used;
        // The machine may have become slower meanwhile, for both.
        alone.extend(calls(&host, window).await);
        let base = percentile(&mut alone, 99);
        let bound = (base * 2).max(base + MORE);
        let holds = beside
            .iter_mut()
            .all(|times| percentile(times, 99) <= bound);
        let mut row = format!("| {name} ");
        for times in [&mut alone].into_iter().chain(&mut beside) {
            let (p50, p99) = (percentile(times, 50), percentile(times, 99));
            row += &format!("| {} | {} ", milliseconds(p50), milliseconds(p99));
        }
        let peak = kib("VmHWM").saturating_sub(resident) >> 10;
        println!(
            "{row}| {} | {attacks} | {:.1} | {peak} |",
            if holds { "yes" } else { "**no**" },
            used.as_secs_f64()
        );
        if !holds {
            failed.push(name);
        }
        host.shutdown().await;
    }
    println!(
        "\nBeyond 2x and +25 ms: {}.",
        if failed.is_empty() {
            "none".into()
        } else {
            failed.join(", ")
        }
    );
}

/// The names of all guests but the one that is compared with.
fn guests() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests");
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .expect("there are guests")
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".wat")?.to_owned()))
        .filter(|name| !["prelude", "attack", "well_behaved"].contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

fn builder(workspace: &Path, name: &str) -> Builder {
    let line = "x".repeat(63) + "\n";
    std::fs::write(workspace.join("hello"), line.repeat(1 << 16))
        .expect("the workspace can be written");
    Host::builder(workspace)
        .state_dir(shared_state("state"))
        .spawner(spawner())
        .without_shell()
        .files(FilesGrant::None)
        .plugin(guest("well_behaved"), options("good"))
        .plugin(guest(name), options("hostile"))
}

/// Calls the well-behaved tool again and again for this long.
async fn calls(host: &Host, window: Duration) -> Vec<Duration> {
    let (mut times, begun) = (Vec::new(), Instant::now());
    while begun.elapsed() < window {
        let call = request("good", "good__t", &json!({}));
        let called = Instant::now();
        let outcome = host.call(call).await.expect("the host takes the call");
        times.push(called.elapsed());
        assert!(!outcome.is_error(), "{outcome:?}");
    }
    times
}

/// Calls of a hostile guest, which follow each other until they are stopped.
struct Attack {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    ended: Arc<AtomicUsize>,
}

impl Attack {
    fn start(host: &Host, at_once: usize) -> Self {
        let (stop, ended) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let tasks = (0..at_once).map(|_| {
            let (host, stop, ended) = (host.clone(), Arc::clone(&stop), Arc::clone(&ended));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let call = request("hostile", "hostile__t", &json!({}));
                    // Refused, if those that wait take all the places of the chat: then it is the waiting that goes on.
                    match host.call(call).await {
                        Ok(_) => ended.fetch_add(1, Ordering::Relaxed),
                        Err(_) => return,
                    };
                }
            })
        });
        Self {
            tasks: tasks.collect(),
            stop,
            ended,
        }
    }

    /// Begins no more of them, and returns how many have ended. Those under way go on until the host ends.
    fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.into_iter().for_each(|task| task.abort());
        self.ended.load(Ordering::Relaxed)
    }
}
