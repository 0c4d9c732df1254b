//! Former escapes, each by a way of its own.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use toolhost_needs::needs;
use toolhost_workspace::process::{Signal, State};

use super::bench::{Bench, Mode, finished};
use super::commands::python;
use super::survivors::{Expected, Held, Scan, VARIABLE, unique, until_nothing_is_left};
use crate::harness::{file, until};

/// A command with a mark of its own and a FIFO that tells whether anything of it is left.
pub(super) struct Marked {
    pub(super) mark: String,
    pub(super) held: Held,
    prefix: String,
}

impl Marked {
    pub(super) fn new(directory: &Path) -> Self {
        let mark = unique();
        let held = Held::new(&directory.join(format!("held-{mark}")));
        let prefix = format!("export {VARIABLE}={mark}; {}; ", held.redirection());
        Self { mark, held, prefix }
    }

    pub(super) fn text(&self, text: &str) -> String {
        format!("{}{text}", self.prefix)
    }

    /// Waits until a number of its processes run something.
    pub(super) async fn runs(&self, command: &str, count: usize) {
        until(&format!("{count} times {command} runs"), || {
            let found = Scan::now().of(&self.mark);
            let running = found.iter().filter(|one| one.command == command).count();
            (running >= count).then_some(())
        })
        .await;
        assert!(self.held.is_held());
    }

    /// Waits until nothing of it is left, and fails if that does not happen.
    pub(super) async fn until_gone(&self, name: &str, supervisor: u32) {
        let expected = Expected {
            name: name.to_owned(),
            mark: &self.mark,
            held: &self.held,
            supervisor,
        };
        until_nothing_is_left(&[expected]).await;
    }
}

pub(super) async fn supervisor(bench: &Bench, name: &str) -> u32 {
    file(&bench.path(name)).await.trim().parse().unwrap()
}

/// Every process of the chain is an orphan that starts the next one and ends at once, just when the supervisor looks for
/// orphans.
#[needs(program = "python3")]
#[tokio::test]
async fn a_fast_chain_of_orphans_is_not_lost_between_two_looks() {
    const CHAIN: &str = r#"exec PYTHON -c '
import os, sys, time
for _ in range(1000):
    if os.fork(): os._exit(0)
open(sys.argv[1], "w").write("x\n")
time.sleep(1000)' end-"#;
    let python = python();
    let bench = Bench::new();
    let chain = CHAIN.replace("PYTHON", &python.to_string_lossy());
    let mut chains = Vec::new();
    for _ in 0..6 {
        let marked = Marked::new(bench.workspace.path());
        let text = format!("echo $PPID > supervisor-{0}; {chain}{0}", marked.mark);
        let process = bench.start(&marked.text(&text)).await;
        chains.push((marked, process));
    }
    for (marked, process) in chains {
        file(&bench.path(&format!("end-{}", marked.mark))).await;
        let state = process.state();
        let supervisor = supervisor(&bench, &format!("supervisor-{}", marked.mark)).await;
        bench.signal(&process, Signal::Kill);
        marked.until_gone("a fast chain", supervisor).await;
        assert!(
            state.is_live(),
            "said to have ended although it had not: {state:?}"
        );
    }
}

#[tokio::test]
async fn a_shell_ended_by_a_real_time_signal_has_ended() {
    let bench = Bench::new();
    for signal in [34, 40, 64] {
        let process = bench.start(&format!("kill -{signal} $$")).await;
        finished(&process).await;
        let state = process.state();
        let status = state.exit_status().unwrap();
        let name = format!("SIGRTMIN+{}", signal - nix::libc::SIGRTMIN());
        assert_eq!((status.code, status.signal.as_ref()), (None, Some(&name)));
    }
}

#[tokio::test]
async fn an_orphan_ended_by_a_real_time_signal_is_not_waited_for() {
    let bench = Bench::new();
    let process = bench
        .start("mkfifo go; (sh -c 'read x < go; kill -40 $$' &); echo ready > ready")
        .await;
    file(&bench.path("ready")).await;
    finished(&process).await;
    assert!(matches!(process.state(), State::Lingering(_)));
    go(&bench.path("go")).await;
    until("the process has ended", || {
        (!process.state().is_live()).then_some(())
    })
    .await;
}

/// The C library keeps two signals for itself, and blocks them for nobody.
#[needs(program = "python3")]
#[tokio::test]
async fn only_sigkill_and_sigstop_reach_what_is_above_a_command() {
    let python = python();
    let bench = Bench::new();
    let marked = Marked::new(bench.workspace.path());
    let (python, spawner) = (python.display(), bench.spawner.pid());
    let script = format!(
        "import os; [os.kill(pid, s) for pid in (os.getppid(), int(os.environ[\"ABOVE\"]), {spawner}) \
         for s in range(1, 65) if s not in (9, 19) and pid != os.getppid()]"
    );
    let text = format!(
        "setsid sleep 1000 & echo $PPID > supervisor; ABOVE=$PPID {python} -c '{script}'; echo done > done; sleep 1000"
    );
    let process = bench.start(&marked.text(&text)).await;
    let supervisor = supervisor(&bench, "supervisor").await;
    file(&bench.path("done")).await;
    assert_eq!(bench.spawner.pid(), spawner);
    assert!(crate::harness::is_alive(spawner), "the spawner was killed");
    assert!(
        crate::harness::is_alive(supervisor),
        "the supervisor was killed"
    );
    marked.runs("sleep 1000", 2).await;
    bench.signal(&process, Signal::Kill);
    marked
        .until_gone("a command that sends all signals", supervisor)
        .await;
    bench.works().await;
}

/// Starts a command that does this to what is above it when it is told to, and waits until nothing of it is left.
async fn lost_with_all(bench: &Bench, name: &str, attack: &str) {
    let marked = Marked::new(bench.workspace.path());
    let text = format!(
        "echo $PPID > supervisor; setsid sleep 1000 & mkfifo go; read x < go; {attack}; sleep 1000"
    );
    let process = bench.start(&marked.text(&text)).await;
    let supervisor = supervisor(bench, "supervisor").await;
    marked.runs("sleep 1000", 1).await;
    go(&bench.path("go")).await;
    until("the process is lost", || {
        matches!(process.state(), State::Lost(_)).then_some(())
    })
    .await;
    marked.until_gone(name, supervisor).await;
    bench.works().await;
}

/// The spawner would have to kill what a dead supervisor left.
#[tokio::test]
async fn a_stopped_spawner_does_not_save_the_orphans_of_a_supervisor() {
    let bench = Bench::new();
    let attack = format!("kill -STOP {}; kill -9 $PPID", bench.spawner.pid());
    lost_with_all(&bench, "a stopped spawner", &attack).await;
}

#[tokio::test]
async fn a_stopped_supervisor_does_not_save_its_command_from_the_end_of_the_spawner() {
    let bench = Bench::new();
    let attack = format!("kill -STOP $PPID; kill -9 {}", bench.spawner.pid());
    lost_with_all(&bench, "a stopped supervisor, no spawner", &attack).await;
}

/// Without a cgroup nobody is left then who would know of it: SECURITY.md says so.
#[needs(cgroup)]
#[tokio::test]
async fn a_cgroup_holds_what_killed_both_its_supervisor_and_the_spawner() {
    let bench = Bench::with(Mode::Cgroup);
    let attack = format!("kill -9 {} $PPID", bench.spawner.pid());
    lost_with_all(&bench, "no supervisor and no spawner", &attack).await;
}

/// Lets a command go on that reads from a FIFO.
pub(super) async fn go(path: &Path) {
    until("it reads", || {
        let mut options = std::fs::File::options();
        options.write(true).custom_flags(nix::libc::O_NONBLOCK);
        // Nobody can open it for writing before it is open for reading.
        options.open(path).ok()?.write_all(b"x\n").ok()
    })
    .await;
}
