//! Hosts that are killed: what the next one on the same state directory knows.
//!
//! Such a host is this test program once more, told by a variable to be one.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};

use toolhost_state::state_dir::StateDirError;
use toolhost_store::HostStateError;
use toolhost_workspace::process::{Saved, State};

use super::{chat, finished, kept, open_kept, pattern, read_all, saved_in, sh};
use crate::harness::{file, until, until_dead};

const WORKSPACE: &str = "TOOLHOST_TEST_WORKSPACE";
const PLAN: &str = "TOOLHOST_TEST_PLAN";
const SIZE: u64 = 300_000;

/// A host in a process of its own.
struct Killable {
    child: Child,
    workspace: tempfile::TempDir,
}

impl Killable {
    fn start(plan: &str) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        std::fs::write(workspace.path().join("file"), pattern(0..SIZE)).unwrap();
        Self::start_in(workspace, plan)
    }

    fn start_in(workspace: tempfile::TempDir, plan: &str) -> Self {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "records::crash::host_to_be_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(WORKSPACE, workspace.path())
            .env(PLAN, plan)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, workspace }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.workspace.path().join(name)
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        assert_eq!(
            self.child.wait().unwrap().signal(),
            Some(9),
            "it was still there"
        );
    }

    fn saved(&self) -> u64 {
        saved_in(&self.path("state"))
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "not a test: the host that another test starts and kills"]
async fn host_to_be_killed() {
    let workspace = std::env::var_os(WORKSPACE).unwrap();
    let workspace = Path::new(&workspace);
    let registry = open_kept(workspace).await.unwrap();
    let plan = std::env::var(PLAN).unwrap();
    let mut ids = String::new();
    for round in 0.. {
        for command in plan.lines() {
            let (command, ends) = command
                .strip_suffix('&')
                .map_or((command, true), |command| (command, false));
            let process = registry.start(&chat("a"), sh(command)).await.unwrap();
            ids += &format!("{}\n", process.id());
            // Complete before it has its name, so that nobody reads half of it.
            std::fs::write(workspace.join("new"), &ids).unwrap();
            std::fs::rename(workspace.join("new"), workspace.join("ids")).unwrap();
            if ends {
                finished(&process).await;
                until("it has ended", || {
                    (!process.state().is_live()).then_some(())
                })
                .await;
            }
        }
        if plan.contains('&') {
            std::fs::write(workspace.join(format!("round{round}")), "done\n").unwrap();
            std::future::pending::<()>().await;
        }
    }
}

#[tokio::test]
async fn what_ended_is_known_and_what_ran_is_lost() {
    let plan = "echo short; exit 3\nkill -KILL $$\ncat file\ntrue\n\
                cat file; echo $$ > pid; exec sleep 1000&\nsleep 1000 & echo $! > pid2; echo waiting; wait&\nexec sleep 1000&";
    let mut host = Killable::start(plan);
    file(&host.path("round0")).await;
    let pids = [
        file(&host.path("pid")).await,
        file(&host.path("pid2")).await,
    ];
    // "short\n", twice the file, "waiting\n".
    until("all of it is on disk", || {
        (host.saved() == 2 * SIZE + 14).then_some(())
    })
    .await;
    let text = file(&host.path("ids")).await;
    let ids: Vec<_> = text.lines().collect();
    let second = kept(host.workspace.path()).unwrap_err();
    let HostStateError::Directory(StateDirError::Locked { pid, .. }) = second else {
        panic!("{second}")
    };
    assert_eq!(pid, Some(host.child.id()));
    host.kill();
    for pid in pids {
        until_dead(pid.trim().parse().unwrap()).await;
    }
    for _ in 0..2 {
        let registry = open_kept(host.workspace.path()).await.unwrap();
        let get = |index: usize| registry.get(&chat("a"), ids[index]).unwrap();
        let code = |index: usize| {
            get(index)
                .state()
                .exit_status()
                .map(|status| (status.code, status.signal.clone()))
        };
        assert_eq!(code(0), Some((Some(3), None)));
        assert_eq!(code(1), Some((None, Some("SIGKILL".into()))));
        assert_eq!(
            (code(2), code(3)),
            (Some((Some(0), None)), Some((Some(0), None)))
        );
        assert_eq!(read_all(&get(0)).await, b"short\n");
        assert!(read_all(&get(2)).await == pattern(0..SIZE));
        assert_eq!(get(2).snapshot().await.saved, Saved::Complete);
        for (index, output) in [
            (4, pattern(0..SIZE)),
            (5, b"waiting\n".to_vec()),
            (6, Vec::new()),
        ] {
            let lost = get(index);
            assert!(
                matches!(lost.state(), State::Lost(why) if why.contains("host stopped")),
                "{:?}",
                lost.state()
            );
            assert!(read_all(&lost).await == output, "{index}");
            let snapshot = lost.snapshot().await;
            assert_eq!(snapshot.total, output.len() as u64);
            // Nobody saw whether that was all, however often it is asked.
            let saved = match output.len() as u64 {
                0 => Saved::None,
                bytes => Saved::Partial(bytes),
            };
            assert_eq!(snapshot.saved, saved);
            assert!(output.starts_with(&snapshot.head) && output.ends_with(&snapshot.tail));
        }
        assert_eq!(registry.list(&chat("a"), true, 10).1, 0);
        registry.shutdown().await;
    }
}

/// Killed at any moment: each id that was ever told answers, and each byte that it has is the right one.
#[tokio::test]
async fn a_host_that_is_killed_at_any_moment_leaves_nothing_unknown() {
    let mut host = Killable::start("cat file\necho x >> counter; cat file");
    let mut told = 0;
    for round in 1..=8 {
        let count = || {
            std::fs::read_to_string(host.path("ids"))
                .unwrap_or_default()
                .lines()
                .count()
        };
        until("some were started", || {
            (count() > told + round % 3).then_some(())
        })
        .await;
        host.kill();
        let ids = std::fs::read_to_string(host.path("ids")).unwrap();
        let registry = open_kept(host.workspace.path()).await.unwrap();
        for id in ids.lines() {
            let process = registry
                .get(&chat("a"), id)
                .unwrap_or_else(|error| panic!("{round}: {error}"));
            let bytes = read_all(&process).await;
            assert!(
                bytes == pattern(0..bytes.len() as u64),
                "bytes of another place"
            );
            match process.state() {
                State::Exited(status) => assert_eq!(status.code, Some(0)),
                State::Lost(_) => assert_eq!(bytes.len() as u64, process.info().total),
                other => panic!("{other:?}"),
            }
        }
        registry.shutdown().await;
        drop(registry);
        std::fs::remove_file(host.path("ids")).unwrap();
        told = 0;
        let workspace = std::mem::replace(&mut host.workspace, tempfile::tempdir().unwrap());
        host = Killable::start_in(workspace, "cat file\necho x >> counter; cat file");
    }
}
