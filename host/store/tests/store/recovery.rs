//! Tests of recoveries that are killed: a start afterwards makes no new store, and the next recovery finds everything.

use std::path::Path;
use std::process::{Command, Stdio};

use toolhost_needs::needs;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{
    AtRest, Begun, CallQuery, Durability, ProcessQuery, Sqlite, Store, StoreError,
};

use crate::file::problems;
use crate::sqlite::{open, settle};
use crate::staging::killed_after;
use crate::values::{call, ended, process};

/// The system calls before which a recovery is killed: all that change a directory, and those with which SQLite changes a file.
const CHANGES: &str = "renameat,renameat2,unlink,unlinkat,pwrite64,ftruncate,fsync,fdatasync";

/// This is no test: other tests start it as the recovery, and kill it.
#[test]
#[ignore = "a recovery that another test starts and kills"]
fn recovers() {
    let state = std::env::var_os("STORE_STATE").unwrap();
    let directory = StateDir::open(Path::new(&state)).unwrap();
    Sqlite::recover(&directory, Durability::Host).unwrap();
}

/// Recovers a store, and is killed before the change of this number. Returns whether it was.
fn is_killed_before(state: &Path, change: usize) -> bool {
    let inject = format!("--inject={CHANGES}:signal=SIGKILL:when={change}");
    let trace = format!("--trace={CHANGES}");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", &trace, &inject]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "recovery::recovers"]);
    command.env("STORE_STATE", state).stdout(Stdio::null());
    !command.status().unwrap().success()
}

fn copy(from: &Path, to: &Path) {
    _ = std::fs::remove_dir_all(to);
    StateDir::open(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// Starts a host. It must refuse to start and name the way on, or know all calls.
async fn start(state: &Path, ids: &[String], when: usize) {
    match open(state, Durability::Host) {
        Ok(store) => knows(&store, ids, when).await,
        Err(error) => assert!(
            error.to_string().contains("`toolhost state recover`"),
            "{when}: {error}"
        ),
    }
}

/// Returns how many calls a reader of a store at rest lists.
fn listed(store: &AtRest) -> usize {
    let query = CallQuery::of_chat("c".parse().unwrap(), 1000);
    store.calls(query).unwrap().calls.len()
}

async fn knows(store: &Sqlite, ids: &[String], when: usize) {
    for id in ids {
        let begun = store.begin(call("c", id)).await.unwrap();
        assert_ne!(
            begun,
            Begun::New,
            "{id} runs again: killed before change {when}"
        );
    }
}

/// Kills recoveries of a store at every step.
async fn kill_everywhere(base: &Path, from: &Path, ids: &[String]) {
    let (state, started) = (base.join("state"), base.join("started"));
    copy(from, &state);
    let directory = StateDir::open(&state).unwrap();
    let whole = Sqlite::recover(&directory, Durability::Host).unwrap();
    let names = || {
        let names = std::fs::read_dir(&state).unwrap();
        let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
        // The time of the recovery is part of some names.
        let mut names: Vec<_> = names
            .map(|name| name.replace(|c: char| c.is_ascii_digit(), ""))
            .collect();
        names.sort();
        names
    };
    let expected = names();
    for change in 1.. {
        copy(from, &state);
        let is_killed = is_killed_before(&state, change);
        copy(&state, &started);
        start(&started, ids, change).await;
        if !is_killed {
            assert!(change > 10, "it was killed before {change} changes");
            return;
        }
        copy(&state, &started);
        let at_rest = AtRest::open(&StateDir::open(&started).unwrap());
        match at_rest {
            Ok(store) => assert_eq!(listed(&store.unwrap()), ids.len(), "{change}"),
            Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{error}"),
        }
        let directory = StateDir::open(&state).unwrap();
        let recovered = Sqlite::recover(&directory, Durability::Host);
        let recovered = recovered.unwrap_or_else(|error| panic!("{change}: {error:?}"));
        let counts = (recovered.calls, recovered.unknown, recovered.is_complete);
        assert_eq!(
            counts,
            (whole.calls, whole.unknown, whole.is_complete),
            "{change}"
        );
        assert_eq!(names(), expected, "{change}");
        assert_eq!(problems(&state), [""; 0]);
        let store = Sqlite::open(&directory, Durability::Host).unwrap();
        knows(&store, ids, change).await;
        let processes = store.processes(ProcessQuery::all()).await.unwrap();
        assert_eq!(processes.found, [process("p", "c")]);
    }
}

async fn fill(store: &Sqlite) {
    store.add_process(process("p", "c")).await.unwrap();
    for number in 0..20 {
        store.end(ended("c", &number.to_string())).await.unwrap();
    }
    settle(store);
    store.begin(call("c", "last")).await.unwrap();
}

fn ids() -> Vec<String> {
    let ended = (0..20).map(|number| number.to_string());
    ended.chain(["last".to_owned()]).collect()
}

/// The store has all of its files.
#[needs(program = "strace")]
#[tokio::test]
async fn a_killed_recovery_after_a_killed_host_is_done_again() {
    let base = tempfile::tempdir().unwrap();
    let killed = killed_after(base.path(), fill).await;
    kill_everywhere(base.path(), &killed, &ids()).await;
}

/// The store has no log, and the new one has one for some time.
#[needs(program = "strace")]
#[tokio::test]
async fn a_killed_recovery_of_a_closed_store_is_done_again() {
    let base = tempfile::tempdir().unwrap();
    let closed = base.path().join("closed");
    let store = open(&closed, Durability::Host).unwrap();
    fill(&store).await;
    drop(store);
    kill_everywhere(base.path(), &closed, &ids()).await;
}

/// Nothing tells which calls the store knew.
#[tokio::test]
async fn a_store_without_its_file_cannot_be_recovered() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    drop(open(&state, Durability::Host).unwrap());
    std::fs::remove_file(state.join("store.db")).unwrap();
    let directory = StateDir::open(&state).unwrap();
    let error = Sqlite::recover(&directory, Durability::Host).unwrap_err();
    assert!(
        matches!(&error, StoreError::Unrecoverable { problem, .. } if problem == "the file is missing"),
        "{error:?}"
    );
    let error = open(&state, Durability::Host).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}
