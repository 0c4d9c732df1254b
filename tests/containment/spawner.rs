//! Kills and stops of the processes above a command.

use std::sync::Arc;

use nix::sys::signal::Signal as Raw;
use toolhost_needs::needs;
use toolhost_workspace::process::{Signal, State};

use super::attacks::ended;
use super::bench::{Bench, Mode, chat, finished};
use super::escapes::{Marked, supervisor};
use super::program::Program;
use super::survivors::{is_spare, kill_one};
use crate::harness::{PATIENCE, file, is_alive, until, until_dead};

#[tokio::test]
async fn who_kills_its_supervisor_is_lost_and_the_host_is_fine() {
    let bench = Bench::new();
    let bystander = bench.start("sleep 1000").await;
    let process = bench.start("kill -9 $PPID; sleep 1000").await;
    finished(&process).await;
    let State::Lost(why) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert!(why.contains("supervisor was killed"), "{why}");
    assert_eq!(bystander.state(), State::Running);
    bench.works().await;
    bench.registry.shutdown().await;
}

#[tokio::test]
async fn a_killed_spawner_is_replaced_every_time() {
    let bench = Bench::new();
    for round in 0..5 {
        let marked = Marked::new(bench.workspace.path());
        let text = format!("echo $PPID > supervisor-{round}; sleep 1000");
        let process = bench.start(&marked.text(&text)).await;
        let above = supervisor(&bench, &format!("supervisor-{round}")).await;
        let spawner = bench.spawner.pid();
        kill_one(spawner, Raw::SIGKILL);
        finished(&process).await;
        let State::Lost(why) = process.state() else {
            panic!("{:?}", process.state())
        };
        assert!(why.contains("spawner"), "{why}");
        marked.until_gone("its spawner was killed", above).await;
        bench.works().await;
        assert_ne!(bench.spawner.pid(), spawner);
        assert!(!is_alive(spawner));
    }
}

/// Each start gives a process or an error, whatever is killed meanwhile, and none hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_survive_kills_of_the_spawner() {
    let bench = Arc::new(Bench::new());
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move {
                let (mut started, mut refused) = (0, 0);
                for _ in 0..30 {
                    let start = bench.try_start("exec sleep 1000");
                    let start = tokio::time::timeout(PATIENCE, start).await;
                    match start.expect("a start hangs") {
                        Ok(_) => started += 1,
                        Err(_) => refused += 1,
                    }
                }
                (started, refused)
            })
        })
        .collect();
    while !starts.iter().all(tokio::task::JoinHandle::is_finished) {
        let spawner = bench.spawner.pid();
        kill_one(spawner, Raw::SIGKILL);
        // The next one is to be hit, too.
        until("another spawner is there", || {
            let other = bench.spawner.pid() != spawner;
            (other || starts.iter().all(tokio::task::JoinHandle::is_finished)).then_some(())
        })
        .await;
    }
    for start in starts {
        let (started, refused) = start.await.unwrap();
        assert_eq!(started + refused, 30);
    }
    until("it starts commands again", || {
        let (_, live) = bench.registry.list(&chat(), true, 0);
        (live == 0 || is_alive(bench.spawner.pid())).then_some(())
    })
    .await;
    let (infos, _) = bench.registry.list(&chat(), false, usize::MAX);
    tokio::time::timeout(PATIENCE, bench.registry.end_chat(&chat()))
        .await
        .expect("the end of a chat hangs");
    assert!(!infos.is_empty(), "not one was started");
    bench.works().await;
}

/// Waits until the host has a supervisor that waits for a command, and returns the process ids of those that there are.
async fn spares(bench: &Bench) -> Vec<u32> {
    let spawner = bench.spawner.pid();
    until("there is a spare supervisor", || {
        if bench.spawner.spares() == 0 {
            return None;
        }
        let children = format!("/proc/{spawner}/task/{spawner}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let spares: Vec<_> = pids.filter(|pid| is_spare(*pid)).collect();
        (!spares.is_empty()).then_some(spares)
    })
    .await
}

/// Waits until there is a supervisor that waits for a command, and returns the process id of the first.
async fn spare(bench: &Bench) -> u32 {
    spares(bench).await[0]
}

/// Runs a command that tells the process id of its supervisor.
async fn supervisor_of(bench: &Bench, command: &str) -> u32 {
    let process = bench.start(&format!("echo $PPID > above; {command}")).await;
    finished(&process).await;
    let code = |state| matches!(state, State::Exited(status) if status.code == Some(0));
    assert!(code(process.state()), "{:?}", process.state());
    let above = file(&bench.path("above")).await;
    std::fs::remove_file(bench.path("above")).unwrap();
    above.trim().parse().unwrap()
}

#[tokio::test]
async fn a_supervisor_that_waits_gets_one_command_after_the_other() {
    let bench = Bench::new();
    let first = spare(&bench).await;
    for _ in 0..3 {
        assert_eq!(supervisor_of(&bench, "true").await, first);
    }
    let busy = bench.start("echo $PPID > busy; exec sleep 1000").await;
    assert_eq!(file(&bench.path("busy")).await.trim(), first.to_string());
    let second = supervisor_of(&bench, "true").await;
    assert_ne!(first, second);
    bench.signal(&busy, Signal::Kill);
    ended(&busy).await;
    // The one that has waited for the shorter time.
    assert_eq!(supervisor_of(&bench, "true").await, first);
    assert_eq!(bench.spawner.spares(), 2);
}

/// A supervisor that was killed for one command has no other.
#[tokio::test]
async fn a_supervisor_whose_command_was_lost_gets_no_other() {
    let bench = Bench::new();
    let first = spare(&bench).await;
    let (state, _) = bench.run("kill -9 $PPID; sleep 1000").await;
    assert!(matches!(state, State::Lost(_)), "{state:?}");
    assert_ne!(supervisor_of(&bench, "true").await, first);
}

#[tokio::test]
async fn a_killed_spare_supervisor_fails_no_command() {
    let bench = Bench::new();
    for _ in 0..5 {
        let killed = spare(&bench).await;
        kill_one(killed, Raw::SIGKILL);
        until_dead(killed).await;
        assert_ne!(supervisor_of(&bench, "true").await, killed);
    }
}

#[tokio::test]
async fn a_stopped_spare_supervisor_is_resumed() {
    let bench = Bench::new();
    kill_one(spare(&bench).await, Raw::SIGSTOP);
    bench.works().await;
}

#[needs(program = "prlimit")]
#[tokio::test]
async fn lowered_limits_of_a_spare_supervisor_reach_no_command() {
    let bench = Bench::new();
    let spare = spare(&bench).await;
    let lowered = std::process::Command::new("prlimit")
        .args(["--pid", &spare.to_string(), "--fsize=0:", "--nofile=3:"])
        .status();
    assert!(lowered.unwrap().success());
    // Otherwise, the file would take nothing.
    assert_eq!(
        supervisor_of(&bench, "ulimit -n > limit; test $(cat limit) -gt 3").await,
        spare
    );
}

#[tokio::test]
async fn a_burst_of_commands_has_no_limit_of_spare_supervisors() {
    let bench = Bench::new();
    let starts = (0..40).map(|_| bench.start("exec sleep 1000"));
    let all = futures_util::future::join_all(starts).await;
    assert!(all.iter().all(|process| process.state() == State::Running));
    bench.registry.shutdown().await;
}

async fn a_stopped_supervisor_is_ended_with_its_command_in(mode: Mode) {
    let bench = Bench::with(mode);
    let marked = Marked::new(bench.workspace.path());
    let text = "echo $PPID > supervisor; setsid sleep 1000 & kill -STOP $PPID; echo x > stopped; sleep 1000";
    let process = bench.start(&marked.text(text)).await;
    let supervisor = supervisor(&bench, "supervisor").await;
    file(&bench.path("stopped")).await;
    marked.runs("sleep 1000", 2).await;
    bench.signal(&process, Signal::Kill);
    marked
        .until_gone(&format!("a stopped supervisor, {mode:?}"), supervisor)
        .await;
    until("the process has ended", || {
        (!process.state().is_live()).then_some(())
    })
    .await;
    bench.works().await;
}

#[tokio::test]
async fn a_stopped_supervisor_is_ended_with_its_command() {
    a_stopped_supervisor_is_ended_with_its_command_in(Mode::Supervisor).await;
}

#[needs(cgroup)]
#[tokio::test]
async fn a_stopped_supervisor_is_ended_with_its_command_in_a_cgroup() {
    a_stopped_supervisor_is_ended_with_its_command_in(Mode::Cgroup).await;
}

/// Starts something below a host of its own, kills the host, and waits for the end of everything.
async fn host_killed_after(name: &str, text: &str) {
    let program = Program::serve(Mode::Supervisor).await;
    let spawner = program.spawner();
    let marked = Marked::new(program.workspace.path());
    let text = format!("SPAWNER={spawner}; echo $PPID > supervisor; setsid sleep 1000 & {text}");
    program.start(&marked.text(&text)).await;
    let supervisor: u32 = file(&program.path("supervisor"))
        .await
        .trim()
        .parse()
        .unwrap();
    file(&program.path("stopped")).await;
    marked.runs("sleep 1000", 1).await;
    program.signal(Raw::SIGKILL);
    program.ended().await;
    marked.until_gone(name, supervisor).await;
    until_dead(spawner).await;
}

#[tokio::test]
async fn a_stopped_supervisor_ends_with_its_host() {
    let text = "kill -STOP $PPID; echo x > stopped; sleep 1000";
    host_killed_after("a stopped supervisor without a host", text).await;
}

#[tokio::test]
async fn a_supervisor_that_is_stopped_again_and_again_ends_with_its_host() {
    let text = "echo x > stopped; while :; do kill -STOP $PPID; done";
    host_killed_after("a supervisor that is stopped again and again", text).await;
}

#[tokio::test]
async fn a_stopped_spawner_ends_with_its_host() {
    let text = "kill -STOP $SPAWNER; echo x > stopped; sleep 1000";
    host_killed_after("a stopped spawner without a host", text).await;
}

#[tokio::test]
async fn both_stopped_end_with_their_host() {
    let text = "kill -STOP $SPAWNER $PPID; echo x > stopped; sleep 1000";
    host_killed_after("both stopped, without a host", text).await;
}
