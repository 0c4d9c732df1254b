//! Every command, with every end, with and without a cgroup, with and without a sandbox.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal as Raw;
use toolhost_local::process::{Config, Limits, Process, Registry};
use toolhost_needs::needs;
use toolhost_workspace::process::{Signal, State};

use super::bench::{Bench, Mode, chat};
use super::commands::{Escapee, WAYS, Way};
use super::program::{Program, Start};
use super::survivors::{Expected, Found, kill_one, until_nothing_is_left};
use crate::harness::processes::temporary;
use crate::harness::{program, until, wait};

/// The sandbox of the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sandbox {
    Workspace,
    Off,
}

impl Sandbox {
    fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Off => "off",
        }
    }

    /// Makes a registry whose commands have this sandbox.
    fn bench(self, mode: Mode) -> Bench {
        let bench = Bench::with(mode);
        let mut config = Config {
            spawner: Some(bench.spawner.clone()),
            limits: Limits {
                grace: Duration::from_millis(200),
                live_per_chat: 1000,
                ..Limits::default()
            },
            ..Config::new(bench.workspace.path().canonicalize().unwrap())
        };
        config.sandbox.mode = self.name().parse().unwrap();
        let registry = wait(Registry::open(config, &temporary())).unwrap();
        Bench { registry, ..bench }
    }

    /// Starts a host of its own whose commands have this sandbox.
    async fn serve(self, mode: Mode) -> Program {
        let start = Start {
            program: program().to_path_buf(),
            env: vec![("TOOLHOST_SANDBOX", self.name().to_owned())],
            owner: None,
            cgroup: mode == Mode::Cgroup,
        };
        Program::start_as(start).await
    }

    /// Fails if the commands have no sandbox although this says that they have.
    fn check(self, name: &str, processes: &[Found]) {
        for one in processes {
            let status = std::fs::read_to_string(format!("/proc/{}/status", one.pid));
            // One that has ended meanwhile says nothing.
            let status = status.unwrap_or_default();
            let may_gain = status.contains("NoNewPrivs:\t0");
            assert!(self == Self::Off || !may_gain, "{name}: {one:?}");
        }
    }
}

/// How it ends while the host lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Kill,
    Terminate,
    ChatEnded,
    Shutdown,
    SupervisorKilled,
    SupervisorKilledByItself,
    SpawnerKilled,
}

/// What holds commands.
type Held = (Sandbox, Mode);

/// What runs: a command on its way, its supervisor, and its process if this host has it.
struct Row {
    escapee: Escapee,
    supervisor: u32,
    process: Option<Arc<Process>>,
}

fn expected<'a>(rows: &'a [Row], end: &str, mode: Mode) -> Vec<Expected<'a>> {
    let one = |row: &'a Row| Expected {
        name: format!("{:?} × {end} × {mode:?}", row.escapee.name),
        mark: &row.escapee.mark,
        held: &row.escapee.held,
        supervisor: row.supervisor,
    };
    rows.iter().map(one).collect()
}

/// The ways that need Python, or those that do not.
fn ways(python: bool) -> impl Iterator<Item = &'static Way> {
    WAYS.iter().filter(move |way| way.needs_python() == python)
}

async fn begin(bench: &Bench, end: End, (sandbox, mode): Held, python: bool) -> Vec<Row> {
    let directory = bench.workspace.path();
    let kills = end == End::SupervisorKilledByItself;
    let mut started = Vec::new();
    for way in ways(python) {
        let escapee = Escapee::new(way, directory, kills);
        let process = bench.start(&escapee.text).await;
        started.push((escapee, process));
    }
    let mut rows = Vec::new();
    for (escapee, process) in started {
        let (supervisor, found) = escapee.at_work(bench.spawner.pid()).await;
        mode.check(escapee.name, &found);
        sandbox.check(escapee.name, &found);
        assert!(process.state().is_live(), "{:?}", process.state());
        rows.push(Row {
            escapee,
            supervisor,
            process: Some(process),
        });
    }
    rows
}

async fn ends(end: End, held: Held, python: bool) {
    let (sandbox, mode) = held;
    let bench = sandbox.bench(mode);
    let rows = begin(&bench, end, held, python).await;
    let processes = || rows.iter().filter_map(|row| row.process.as_ref());
    match end {
        End::Kill => processes().for_each(|one| bench.signal(one, Signal::Kill)),
        End::Terminate => processes().for_each(|one| bench.signal(one, Signal::Terminate)),
        End::ChatEnded => _ = bench.registry.end_chat(&chat()).await,
        End::Shutdown => _ = bench.registry.shutdown().await,
        End::SupervisorKilled => {
            rows.iter()
                .for_each(|row| kill_one(row.supervisor, Raw::SIGKILL));
        }
        End::SupervisorKilledByItself => {
            for row in &rows {
                row.escapee.kill_supervisor().await;
            }
        }
        End::SpawnerKilled => kill_one(bench.spawner.pid(), Raw::SIGKILL),
    }
    let name = format!("{end:?} × {sandbox:?}");
    until_nothing_is_left(&expected(&rows, &name, mode)).await;
    for row in &rows {
        told(row, end, mode).await;
    }
    if end != End::Shutdown {
        bench.works().await;
    }
}

/// Waits until a process says that it has ended, and in which way.
async fn told(row: &Row, end: End, mode: Mode) {
    let name = format!("{:?} × {end:?} × {mode:?}", row.escapee.name);
    let process = row.process.as_ref().unwrap();
    let state = until(&format!("{name} is said to have ended"), || {
        let state = process.state();
        (!state.is_live()).then_some(state)
    })
    .await;
    let may_be_lost = matches!(
        end,
        End::SupervisorKilled | End::SupervisorKilledByItself | End::SpawnerKilled
    );
    match state {
        State::Lost(why) => assert!(may_be_lost && !why.is_empty(), "{name}: lost: {why}"),
        State::Exited(_) => {}
        other => panic!("{name}: {other:?}"),
    }
}

/// The same below a host that is a program of its own, which a signal ends. Nobody else may have to do anything.
async fn host_ends(signal: Raw, (sandbox, mode): Held, python: bool) {
    let program = sandbox.serve(mode).await;
    let mut escapees = Vec::new();
    for way in ways(python) {
        let escapee = Escapee::new(way, program.workspace.path(), false);
        program.start(&escapee.text).await;
        escapees.push(escapee);
    }
    let mut rows = Vec::new();
    for escapee in escapees {
        let (supervisor, found) = escapee.at_work(program.spawner()).await;
        mode.check(escapee.name, &found);
        sandbox.check(escapee.name, &found);
        rows.push(Row {
            escapee,
            supervisor,
            process: None,
        });
    }
    let spawner = program.spawner();
    program.signal(signal);
    program.ended().await;
    until_nothing_is_left(&expected(
        &rows,
        &format!("host {signal} × {sandbox:?}"),
        mode,
    ))
    .await;
    crate::harness::until_dead(spawner).await;
}

/// Each end, of the ways of shells and of those of Python, without and with a cgroup.
macro_rules! table {
    ($sandbox:ident: $($name:ident: $function:ident($end:expr);)*) => {
        use super::*;

        mod without_a_cgroup {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                $function($end, (Sandbox::$sandbox, Mode::Supervisor), false).await;
            })*
        }

        mod without_a_cgroup_python {
            use super::*;
            $(#[needs(program = "python3")]
            #[tokio::test]
            async fn $name() {
                $function($end, (Sandbox::$sandbox, Mode::Supervisor), true).await;
            })*
        }

        mod with_a_cgroup {
            use super::*;
            $(#[needs(cgroup)]
            #[tokio::test]
            async fn $name() {
                $function($end, (Sandbox::$sandbox, Mode::Cgroup), false).await;
            })*
        }

        mod with_a_cgroup_python {
            use super::*;
            $(#[needs(cgroup, program = "python3")]
            #[tokio::test]
            async fn $name() {
                $function($end, (Sandbox::$sandbox, Mode::Cgroup), true).await;
            })*
        }
    };
}

/// A command in a sandbox cannot kill its supervisor: `sandboxing::exploits` shows that.
mod confined {
    table! {
        Workspace:
        killed: ends(End::Kill);
        terminated: ends(End::Terminate);
        the_chat_ended: ends(End::ChatEnded);
        the_registry_shut_down: ends(End::Shutdown);
        the_supervisor_killed: ends(End::SupervisorKilled);
        the_spawner_killed: ends(End::SpawnerKilled);
        the_host_terminated: host_ends(Raw::SIGTERM);
        the_host_killed: host_ends(Raw::SIGKILL);
    }
}

mod unconfined {
    table! {
        Off:
        killed: ends(End::Kill);
        terminated: ends(End::Terminate);
        the_chat_ended: ends(End::ChatEnded);
        the_registry_shut_down: ends(End::Shutdown);
        the_supervisor_killed: ends(End::SupervisorKilled);
        the_supervisor_killed_by_the_command: ends(End::SupervisorKilledByItself);
        the_spawner_killed: ends(End::SpawnerKilled);
        the_host_terminated: host_ends(Raw::SIGTERM);
        the_host_killed: host_ends(Raw::SIGKILL);
    }
}

/// A host that is stopped is not gone, and whoever kills it ends everything all the same.
#[tokio::test]
async fn the_host_stopped_then_killed() {
    let program = Program::serve(Mode::Supervisor).await;
    let escapee = Escapee::new(&WAYS[3], program.workspace.path(), false);
    program.start(&escapee.text).await;
    let (supervisor, _) = escapee.at_work(program.spawner()).await;
    program.signal(Raw::SIGSTOP);
    program.signal(Raw::SIGKILL);
    program.ended().await;
    let rows = [Row {
        escapee,
        supervisor,
        process: None,
    }];
    let end = "host stopped and killed";
    until_nothing_is_left(&expected(&rows, end, Mode::Supervisor)).await;
}
