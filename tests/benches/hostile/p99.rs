//! A well-behaved tool in one chat while a hostile guest attacks in another, again and again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use toolhost_core::{Builder, Host, StartError};
use toolhost_workspace::files::FilesGrant;

use crate::guest::{guest, options};
use crate::harness::{request, shared_state, spawner};
use crate::report::{Report, percentile, time};

/// Adds the worst time of a well-behaved tool beside any one guest that loads, and beside four of it.
pub(crate) async fn run(report: &mut Report) {
    let window = Duration::from_millis(if report.quick { 50 } else { 1000 });
    let mut worst = [const { (Duration::ZERO, Duration::ZERO, String::new()) }; 2];
    let mut loaded = 0;
    // All of them take their time, if only to be compiled.
    let step = if report.quick { 20 } else { 1 };
    for name in guests().into_iter().step_by(step) {
        let workspace = tempfile::tempdir().expect("there is a place for a workspace");
        let host = match builder(workspace.path(), &name).start().await {
            Ok(host) => host,
            Err(StartError::Load { .. }) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        loaded += 1;
        // A first call makes everything warm.
        calls(&host, window / 10).await;
        let mut alone = calls(&host, window).await;
        let mut beside = Vec::new();
        for at_once in [1, 4] {
            let attack = Attack::start(&host, at_once);
            beside.push(calls(&host, window).await);
            attack.stop();
        }
        // The machine may have become slower meanwhile, for both.
        alone.extend(calls(&host, window).await);
        let base = percentile(&mut alone, 99);
        for (times, worst) in beside.iter_mut().zip(&mut worst) {
            let p99 = percentile(times, 99);
            if p99 > worst.0 {
                *worst = (p99, base, name.clone());
            }
        }
        host.shutdown().await;
    }
    for (count, (p99, alone, name)) in ["one hostile guest", "four hostile guests"]
        .iter()
        .zip(worst)
    {
        report.compare(
            &format!("a trivial call of another chat beside {count}, p99, the worst of {loaded}"),
            &format!("{} (`{name}`)", time(p99)),
            &format!("alone: {}", time(alone)),
            p99.as_secs_f64() / alone.as_secs_f64(),
        );
    }
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
}

impl Attack {
    fn start(host: &Host, at_once: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let tasks = (0..at_once).map(|_| {
            let (host, stop) = (host.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let call = request("hostile", "hostile__t", &json!({}));
                    // Refused, if those that wait take all the places of the chat: then it is the waiting that goes on.
                    if host.call(call).await.is_err() {
                        return;
                    }
                }
            })
        });
        Self {
            tasks: tasks.collect(),
            stop,
        }
    }

    /// Begins no more of them. Those under way go on until the host ends.
    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.into_iter().for_each(|task| task.abort());
    }
}
