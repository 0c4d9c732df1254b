//! Tests of recoveries that are killed: a start afterwards makes no new store, and the next recovery finds everything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toolhost_needs::needs;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{
    AtRest, Begun, CallQuery, Durability, LocalStore, ProcessQuery, Sqlite, Store, StoreError,
};

use crate::damage;
use crate::file::problems;
use crate::sqlite::open;
use crate::values::{call, ended, process};

/// The system calls before which a recovery is killed: those that change a directory, and those with which SQLite changes a file.
const CHANGES: [&str; 6] = [
    "openat",
    "renameat",
    "unlinkat",
    "unlink",
    "pwrite64",
    "ftruncate",
];

/// This is no test: other tests start it as the recovery, and kill it.
#[test]
#[ignore = "a recovery that another test starts and kills"]
fn recovers() {
    let state = std::env::var_os("STORE_STATE").unwrap();
    let directory = StateDir::open(Path::new(&state)).unwrap();
    Sqlite::recover(&directory, Durability::Host).unwrap();
}

/// This is no test: another test starts it as the first host of a directory, and kills it.
#[test]
#[ignore = "a start that another test starts and kills"]
fn starts() {
    let state = std::env::var_os("STORE_STATE").unwrap();
    drop(open(Path::new(&state), Durability::Host).unwrap());
}

/// Recovers a store, and is killed before a system call: the one of this number among those of this name. Returns whether it was killed.
fn is_killed_before(state: &Path, call: &str, number: usize) -> bool {
    is_killed("recovery::recovers", state, call, number)
}

fn is_killed(program: &str, state: &Path, call: &str, number: usize) -> bool {
    let inject = format!("--inject={call}:signal=SIGKILL:when={number}");
    let trace = format!("--trace={call}");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", &trace, &inject]);
    if call == "openat" {
        // Only files that are opened by the descriptor of the directory.
        command.arg("-P").arg(state);
    }
    command.arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", program]);
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
async fn start(state: &Path, ids: &[String], when: &str) {
    match open(state, Durability::Host) {
        Ok(store) => knows(&store, ids, when).await,
        Err(error) => assert!(
            error.to_string().contains("`toolhost state recover`"),
            "{when}: {error}"
        ),
    }
}

/// Reads a store at rest. The reader must refuse it, or list all calls.
fn read(state: &Path, ids: &[String], when: &str) {
    let query = CallQuery::of_chat("c".parse().unwrap(), 1000);
    match AtRest::open(&StateDir::open(state).unwrap()) {
        Ok(store) => {
            let page = store.unwrap().calls(query).unwrap();
            assert_eq!(page.calls.len(), ids.len(), "{when}");
        }
        Err(error) => assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{when}: {error}"
        ),
    }
}

async fn knows(store: &Sqlite, ids: &[String], when: &str) {
    for id in ids {
        let begun = store.begin(call("c", id)).await.unwrap();
        assert_ne!(begun, Begun::New, "{id} runs again: killed before {when}");
    }
}

/// Returns the names of the files, without the time of a recovery.
fn names(state: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(state).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .map(|name| name.replace(|c: char| c.is_ascii_digit(), ""))
        .collect()
}

/// Kills recoveries of a store at every step.
async fn kill_everywhere(base: &Path, from: &Path, ids: &[String]) {
    let (state, copied) = (base.join("state"), base.join("copied"));
    copy(from, &state);
    let recover = || {
        let directory = StateDir::open(&state).unwrap();
        let recovered = Sqlite::recover(&directory, Durability::Host).unwrap();
        let counts = (recovered.calls, recovered.unknown, recovered.is_complete);
        (counts, names(&state))
    };
    let expected = recover();
    for call in CHANGES {
        for number in 1.. {
            copy(from, &state);
            if !is_killed_before(&state, call, number) {
                assert!(number > 1, "there is no {call}");
                break;
            }
            let when = format!("{call} {number}");
            // SQLite would apply the journal of the new store to the damaged one.
            let is_marked = names(&state).contains("store.recovering-");
            let has_journal = names(&state).contains("store.db-journal");
            assert!(is_marked || !has_journal, "{when}");
            copy(&state, &copied);
            start(&copied, ids, &when).await;
            copy(&state, &copied);
            read(&copied, ids, &when);
            if !is_marked && names(&state) == expected.1 {
                // The recovery was complete.
                continue;
            }
            assert_eq!(recover(), expected, "{when}");
            assert_eq!(problems(&state), [""; 0]);
            let store = open(&state, Durability::Host).unwrap();
            knows(&store, ids, &when).await;
            let processes = store.processes(ProcessQuery::all()).await.unwrap();
            assert_eq!(processes.found, [process("p", "c")]);
        }
    }
}

/// Copies the files of a host as they are after some changes, as a killed host leaves them.
async fn killed_after(base: &Path, changes: impl AsyncFn(&Sqlite)) -> PathBuf {
    let (alive, killed) = (base.join("alive"), base.join("killed"));
    let store = open(&alive, Durability::Host).unwrap();
    changes(&store).await;
    damage::copy(&alive, &killed);
    killed
}

async fn fill(store: &Sqlite) {
    store.add_process(process("p", "c")).await.unwrap();
    for number in 0..20 {
        store.end(ended("c", &number.to_string())).await.unwrap();
    }
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

/// The new store had a rollback journal, which must not be applied to the damaged one.
#[needs(program = "strace")]
#[tokio::test]
async fn a_killed_recovery_after_a_killed_recovery_is_done_again() {
    let base = tempfile::tempdir().unwrap();
    let (killed, interrupted) = (base.path().join("killed"), base.path().join("interrupted"));
    let store = open(&killed, Durability::Host).unwrap();
    fill(&store).await;
    drop(store);
    copy(&killed, &interrupted);
    assert!(is_killed_before(&interrupted, "pwrite64", 4));
    assert!(interrupted.join("store.db-journal").exists());
    kill_everywhere(base.path(), &interrupted, &ids()).await;
}

#[needs(program = "strace")]
#[test]
fn a_first_start_that_is_killed_is_done_again() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    for call in CHANGES {
        for number in 1.. {
            _ = std::fs::remove_dir_all(&state);
            StateDir::open(&state).unwrap();
            if !is_killed("recovery::starts", &state, call, number) {
                break;
            }
            let started = open(&state, Durability::Host);
            assert!(started.is_ok(), "{call} {number}: {started:?}");
        }
    }
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
