//! A well-behaved tool in one chat while a hostile guest or a hostile script attacks in another, again and again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost_artifacts::SCRIPT;
use toolhost_core::{Builder, Grants, Host, Options, StartError};
use toolhost_workspace::files::FilesGrant;

use crate::attacks::{KNOWN, SCRIPTS, UNKNOWN};
use crate::guest::{guest, options};
use crate::harness::{request, shared_state, spawner};
use crate::report::{Report, percentile, time};

/// The attacks that run at the same time, and how a row names them.
const AT_ONCE: [(usize, &str); 2] = [(1, "one"), (4, "four")];

/// Adds the worst time of a well-behaved tool beside any one guest that loads, and beside four of it.
pub(crate) async fn guests(report: &mut Report) {
    let mut worst = Worst::default();
    for name in names().into_iter().step_by(step(report)) {
        let workspace = tempfile::tempdir().expect("there is a place for a workspace");
        let host = match builder(workspace.path(), &name).start().await {
            Ok(host) => host,
            Err(StartError::Load { .. }) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let attack = Attack {
            name,
            tool: "hostile__t",
            arguments: json!({}),
        };
        worst.look(&host, "good__t", attack, report.quick).await;
        host.shutdown().await;
    }
    worst.add(report, "hostile guest");
}

/// The same beside hostile scripts.
pub(crate) async fn scripts(report: &mut Report) {
    let mut worst = Worst::default();
    let listed = SCRIPTS.iter().map(|(code, _)| *code);
    for code in listed.chain([UNKNOWN, KNOWN]).step_by(step(report)) {
        let workspace = tempfile::tempdir().expect("there is a place for a workspace");
        let calling = Options {
            grants: Grants::default().with_calls(["*"]),
            ..Options::new("script")
        };
        let builder = Host::builder(workspace.path())
            .state_dir(shared_state("state"))
            .spawner(spawner())
            .plugin(guest("well_behaved"), options("good"))
            .plugin(SCRIPT, calling);
        let host = builder.start().await.expect("the host starts");
        let attack = Attack {
            name: code
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .replace('|', "/"),
            tool: "run_script",
            arguments: json!({ "code": code }),
        };
        worst.look(&host, "t", attack, report.quick).await;
        host.shutdown().await;
    }
    worst.add(report, "hostile script");
}

/// All of them take their time, if only to be compiled.
fn step(report: &Report) -> usize {
    if report.quick { 20 } else { 1 }
}

/// The worst time beside any attack so far, by how many attacks ran at once; the time alone, and the attack.
#[derive(Default)]
struct Worst {
    times: [(Duration, Duration, String); AT_ONCE.len()],
    looked: usize,
}

impl Worst {
    /// Measures the calls of the tool `good` alone and beside an attack.
    async fn look(&mut self, host: &Host, good: &str, attack: Attack, quick: bool) {
        let window = Duration::from_millis(if quick { 50 } else { 1000 });
        self.looked += 1;
        // A first call makes everything warm.
        calls(host, good, window / 10).await;
        let mut alone = calls(host, good, window).await;
        let mut beside = Vec::new();
        for (at_once, _) in AT_ONCE {
            let attacking = Attacking::start(host, &attack, at_once);
            beside.push(calls(host, good, window).await);
            attacking.stop();
            quiet(host).await;
        }
        // The machine may have become slower meanwhile, for both.
        alone.extend(calls(host, good, window).await);
        let base = percentile(&mut alone, 99);
        for (times, worst) in beside.iter_mut().zip(&mut self.times) {
            let p99 = percentile(times, 99);
            if p99 > worst.0 {
                *worst = (p99, base, attack.name.clone());
            }
        }
    }

    /// Adds the rows.
    fn add(self, report: &mut Report, attacker: &str) {
        for ((at_once, count), (p99, alone, name)) in AT_ONCE.into_iter().zip(self.times) {
            let plural = if at_once == 1 { "" } else { "s" };
            report.compare(
                &format!("a trivial call of another chat beside {count} {attacker}{plural}, p99, the worst of {}", self.looked),
                &format!("{} (`{}`)", time(p99), name.chars().take(60).collect::<String>()),
                &format!("alone: {}", time(alone)),
                p99.as_secs_f64() / alone.as_secs_f64(),
            );
        }
    }
}

/// The names of all guests but the one that is compared with.
fn names() -> Vec<String> {
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

/// Waits until no call runs, though not for those that sleep for longer than any may compute.
async fn quiet(host: &Host) {
    const PATIENCE: Duration = Duration::from_secs(10);
    let begun = Instant::now();
    while host.running_calls() > 0 && begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Calls the well-behaved tool again and again for this long.
async fn calls(host: &Host, tool: &str, window: Duration) -> Vec<Duration> {
    let (mut times, begun) = (Vec::new(), Instant::now());
    while begun.elapsed() < window {
        let call = request("good", tool, &json!({}));
        let called = Instant::now();
        let outcome = host.call(call).await.expect("the host takes the call");
        times.push(called.elapsed());
        assert!(!outcome.is_error(), "{outcome:?}");
    }
    times
}

/// A call that is meant to harm.
struct Attack {
    /// What a row shows of it.
    name: String,
    tool: &'static str,
    arguments: Value,
}

/// Calls of an attack, which follow each other until they are stopped.
struct Attacking {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Attacking {
    fn start(host: &Host, attack: &Attack, at_once: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let tasks = (0..at_once).map(|_| {
            let (host, stop) = (host.clone(), Arc::clone(&stop));
            let (tool, arguments) = (attack.tool, attack.arguments.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let call = request("hostile", tool, &arguments);
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

    /// Begins no more of them. Those under way go on.
    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.into_iter().for_each(|task| task.abort());
    }
}
