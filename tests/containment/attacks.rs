//! Commands that keep what is above them from its work, other than by signals.

use std::sync::Arc;

use nix::sys::signal::Signal as Raw;
use toolhost_local::process::Process;
use toolhost_needs::needs;
use toolhost_workspace::process::{Signal, State};

use super::bench::{Bench, Mode, finished};
use super::escapes::{Marked, supervisor};
use super::program::Program;
use crate::harness::{file, is_alive, until, until_dead};

pub(super) async fn ended(process: &Process) {
    until("the process has ended", || {
        (!process.state().is_live()).then_some(())
    })
    .await;
}

/// What may open nothing cannot look into `/proc`, nor wait by poll, and must not take that for an empty tree.
const NO_DESCRIPTORS: &str = "echo $PPID > supervisor; prlimit --pid $PPID --nofile=0:0; (setsid sleep 0.1 &); \
    setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo x > stopped; sleep 1000";

async fn a_supervisor_that_may_open_nothing_lets_nothing_go_in(mode: Mode) {
    for signal in [Signal::Kill, Signal::Terminate] {
        let bench = Bench::with(mode);
        let marked = Marked::new(bench.workspace.path());
        let process = bench.start(&marked.text(NO_DESCRIPTORS)).await;
        let supervisor = supervisor(&bench, "supervisor").await;
        file(&bench.path("stopped")).await;
        marked.runs("sleep 1000", 3).await;
        bench.signal(&process, signal);
        let name = format!("no descriptors, {mode:?}, {signal}");
        marked.until_gone(&name, supervisor).await;
        ended(&process).await;
        bench.works().await;
    }
}

#[tokio::test]
async fn a_supervisor_that_may_open_nothing_lets_nothing_go() {
    a_supervisor_that_may_open_nothing_lets_nothing_go_in(Mode::Supervisor).await;
}

#[needs(cgroup)]
#[tokio::test]
async fn a_supervisor_that_may_open_nothing_lets_nothing_go_in_a_cgroup() {
    a_supervisor_that_may_open_nothing_lets_nothing_go_in(Mode::Cgroup).await;
}

#[tokio::test]
async fn a_supervisor_that_may_open_nothing_knows_how_its_shell_ended() {
    let bench = Bench::new();
    let marked = Marked::new(bench.workspace.path());
    let text =
        "echo $PPID > supervisor; prlimit --pid $PPID --nofile=0:0; setsid sleep 1000 & exit 3";
    let process = bench.start(&marked.text(text)).await;
    let supervisor = supervisor(&bench, "supervisor").await;
    finished(&process).await;
    let state = process.state();
    assert!(
        matches!(&state, State::Lingering(status) if status.code == Some(3)),
        "{state:?}"
    );
    bench.signal(&process, Signal::Kill);
    marked
        .until_gone("survivors without descriptors", supervisor)
        .await;
}

#[tokio::test]
async fn a_supervisor_that_may_open_nothing_ends_with_its_host() {
    let program = Program::serve(Mode::Supervisor).await;
    let spawner = program.spawner();
    let marked = Marked::new(program.workspace.path());
    program.start(&marked.text(NO_DESCRIPTORS)).await;
    let supervisor: u32 = file(&program.path("supervisor"))
        .await
        .trim()
        .parse()
        .unwrap();
    marked.runs("sleep 1000", 3).await;
    program.signal(Raw::SIGKILL);
    program.ended().await;
    marked
        .until_gone("no descriptors and no host", supervisor)
        .await;
    until_dead(spawner).await;
}

/// It is replaced, and what it had started runs on.
async fn a_spawner_that_may_open_nothing_is_replaced_in(mode: Mode) {
    let bench = Bench::with(mode);
    let first = bench.spawner.pid();
    let process = bench
        .start("echo $$ > pid; read x < /dev/null; exec sleep 1000")
        .await;
    let pid: u32 = file(&bench.path("pid")).await.trim().parse().unwrap();
    let limit = format!("prlimit --pid {first} --nofile=0:0");
    bench.run(&limit).await;
    // The supervisor that waits still works, until it is busy. The spawner can fork no more.
    bench.works().await;
    let busy = bench.start("exec sleep 1000").await;
    bench.works().await;
    assert_ne!(bench.spawner.pid(), first);
    assert!(is_alive(pid) && process.state() == State::Running);
    for process in [&process, &busy] {
        bench.signal(process, Signal::Kill);
        ended(process).await;
    }
    until_dead(pid).await;
    // Nothing needs it any more.
    until_dead(first).await;
}

#[tokio::test]
async fn a_spawner_that_may_open_nothing_is_replaced() {
    a_spawner_that_may_open_nothing_is_replaced_in(Mode::Supervisor).await;
}

#[needs(cgroup)]
#[tokio::test]
async fn a_spawner_that_may_open_nothing_is_replaced_in_a_cgroup() {
    a_spawner_that_may_open_nothing_is_replaced_in(Mode::Cgroup).await;
}

/// A frozen process is not stopped, and takes no signal but SIGKILL.
#[needs(cgroup)]
#[tokio::test]
async fn a_frozen_supervisor_is_ended_with_its_command() {
    let bench = Bench::with(Mode::Cgroup);
    let marked = Marked::new(bench.workspace.path());
    let text = "own=$(sed -n 's/^0:://p' /proc/self/cgroup); \
        mount=$(sed -n 's/^.* \\(\\/[^ ]*\\) [^-]*- cgroup2 .*$/\\1/p' /proc/self/mountinfo | head -n 1); \
        dir=$mount${own%/*}/frozen-$$; mkdir \"$dir\"; echo \"$dir\" > dir; \
        echo $PPID > supervisor; echo $PPID > \"$dir/cgroup.procs\"; echo 1 > \"$dir/cgroup.freeze\"; \
        setsid sleep 1000 & echo x > stopped; sleep 1000";
    let process = bench.start(&marked.text(text)).await;
    let supervisor = supervisor(&bench, "supervisor").await;
    file(&bench.path("stopped")).await;
    marked.runs("sleep 1000", 2).await;
    bench.signal(&process, Signal::Kill);
    marked.until_gone("a frozen supervisor", supervisor).await;
    ended(&process).await;
    bench.works().await;
    let directory = file(&bench.path("dir")).await;
    until("its cgroup is empty", || {
        std::fs::remove_dir(directory.trim()).ok()
    })
    .await;
}

/// A handler that cleans up with other programs gets to do so: they are not what the signal was sent to.
async fn what_a_handler_starts_is_not_hit_by_its_signal_in(mode: Mode) {
    let bench = Bench::with(mode);
    let bench = Arc::new(bench);
    for signal in [Signal::Terminate, Signal::User1, Signal::Interrupt] {
        let text = "for i in 1 2 3 4 5 6 7 8; do (trap '' INT; exec sleep 1000) & done; \
            trap 'trap - TERM USR1 INT; sh -c \"sleep 0.02; echo done > done\"; exit 7' TERM USR1 INT; \
            echo x > ready; wait";
        let process = bench.start(text).await;
        file(&bench.path("ready")).await;
        bench.signal(&process, signal);
        file(&bench.path("done")).await;
        finished(&process).await;
        let code = process.state().exit_status().and_then(|status| status.code);
        assert_eq!(code, Some(7), "{signal}, {mode:?}");
        bench.signal(&process, Signal::Kill);
        ended(&process).await;
        for name in ["done", "ready"] {
            std::fs::remove_file(bench.path(name)).unwrap();
        }
    }
}

#[tokio::test]
async fn what_a_handler_starts_is_not_hit_by_its_signal() {
    what_a_handler_starts_is_not_hit_by_its_signal_in(Mode::Supervisor).await;
}

#[needs(cgroup)]
#[tokio::test]
async fn what_a_handler_starts_is_not_hit_by_its_signal_in_a_cgroup() {
    what_a_handler_starts_is_not_hit_by_its_signal_in(Mode::Cgroup).await;
}

/// Cgroups that a command makes within its own do not stay.
#[needs(cgroup)]
#[tokio::test]
async fn no_cgroup_is_left() {
    let bench = Bench::with(Mode::Cgroup);
    let text = "own=$(sed -n 's/^0:://p' /proc/self/cgroup); \
        mount=$(sed -n 's/^.* \\(\\/[^ ]*\\) [^-]*- cgroup2 .*$/\\1/p' /proc/self/mountinfo | head -n 1); \
        echo \"$mount$own\"; mkdir -p \"$mount$own/a/b\" \"$mount$own/c\"";
    let (_, directory) = bench.run(text).await;
    let directory = std::path::Path::new(directory.trim());
    assert!(directory.is_absolute(), "{directory:?}");
    // Killed a moment before the end of the host, so that it still is in its cgroup then.
    let (state, _) = bench.run("sleep 1000 & kill -9 $PPID; sleep 1000").await;
    assert!(matches!(state, State::Lost(_)), "{state:?}");
    bench.registry.shutdown().await;
    let parent = directory.parent().unwrap().to_owned();
    let prefix = format!("toolhost-{}-", std::process::id());
    let number = directory.file_name().unwrap().to_str().unwrap();
    let first: u64 = number[prefix.len()..].parse().unwrap();
    drop(bench);
    // Its cgroups follow one another, apart from those of other tests in this process, which are removed as well in time.
    for number in [first, first + 1] {
        until("the cgroup is removed", || {
            (!parent.join(format!("{prefix}{number}")).exists()).then_some(())
        })
        .await;
    }
}
