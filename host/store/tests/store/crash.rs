//! A test that kills a writer at random moments: a call whose beginning was answered never begins again.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use toolhost_needs::needs;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{Begun, Durability, Sqlite, Store, StoreError};

use crate::disks::Mounted;
use crate::failing::Loop;
use crate::file::problems;
use crate::sqlite::open;
use crate::values::{call, cancellation, ended};

/// How many times the writer is killed.
const KILLS: usize = 25;

/// How many calls a writer has at once.
const TASKS: usize = 4;

/// Returns what a store answered. If it refused, ends the process at once, as a kill does.
fn answered<T>(answer: Result<T, StoreError>) -> T {
    answer.unwrap_or_else(|_| std::process::exit(1))
}

/// This is no test: other tests start it as the writer, and kill it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a writer that another test starts and kills"]
async fn writer() {
    let state = std::env::var_os("STORE_STATE").unwrap();
    let store = open(Path::new(&state), Durability::Host).unwrap();
    store.interrupt().await.unwrap();
    let first: usize = std::env::var("STORE_FIRST").unwrap().parse().unwrap();
    let write = async |task: usize| {
        for number in (first + task..).step_by(TASKS) {
            let (chat, id) = (format!("chat-{}", number % 7), number.to_string());
            if number.is_multiple_of(5) {
                let cancelled = store.cancel(toolhost_store::Cancellation {
                    most: u64::MAX,
                    ..cancellation(&chat, &id, None)
                });
                answered(cancelled.await);
            } else {
                assert_eq!(answered(store.begin(call(&chat, &id)).await), Begun::New);
            }
            // One write to the pipe for each line, before the call would run.
            std::io::stdout()
                .write_all(format!("began {number}\n").as_bytes())
                .unwrap();
            if number.is_multiple_of(3) && !number.is_multiple_of(5) {
                answered(store.end(ended(&chat, &id)).await);
                std::io::stdout()
                    .write_all(format!("ended {number}\n").as_bytes())
                    .unwrap();
            }
        }
    };
    futures_util::future::join_all((0..TASKS).map(write)).await;
}

/// Starts a writer of calls from this number on.
pub(crate) fn start(state: &Path, first: usize) -> Child {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "crash::writer", "--nocapture"];
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("STORE_STATE", state)
        .env("STORE_FIRST", first.to_string());
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until a writer has printed this many lines, kills it, and returns its output.
pub(crate) fn kill_after(writer: Child, lines: usize) -> Vec<String> {
    act_after(writer, lines, |writer| writer.kill().unwrap())
}

/// Waits until a writer has printed this many lines, does something that ends it, and returns its output.
fn act_after(mut writer: Child, lines: usize, act: impl Fn(&mut Child)) -> Vec<String> {
    let mut said = Vec::new();
    for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
        said.push(line.unwrap());
        if said.len() == lines {
            // The lines that the writer has printed meanwhile are still read.
            act(&mut writer);
        }
    }
    writer.wait().unwrap();
    said
}

/// Kills a writer after so many lines. Returns its directory, whose log has what it wrote, and what it said.
pub(crate) fn killed(base: &Path, lines: usize) -> (PathBuf, Vec<String>) {
    let state = base.join("killed");
    let said = kill_after(start(&state, 1), lines);
    (state, said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_writer_loses_nothing() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let (mut began, mut over) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..KILLS {
        let writer = start(&state, round * 1_000_000);
        for line in kill_after(writer, 10 + round * 37 % 400) {
            match line.split_once(' ') {
                Some(("began", number)) => _ = began.insert(number.parse::<usize>().unwrap()),
                Some(("ended", number)) => _ = over.insert(number.parse::<usize>().unwrap()),
                _ => {}
            }
        }
        let store = open(&state, Durability::Host).unwrap();
        store.interrupt().await.unwrap();
        assert_eq!(store.counts().damaged, 0);
        for number in &began {
            let begun = store
                .begin(call(&format!("chat-{}", number % 7), &number.to_string()))
                .await
                .unwrap();
            match begun {
                Begun::Cancelled => assert!(number.is_multiple_of(5)),
                Begun::Ended(_) => {}
                Begun::Running => assert!(!over.contains(number), "its end was answered"),
                begun => panic!("{number}: {begun:?}"),
            }
        }
        drop(store);
        assert_eq!(problems(&state), [""; 0]);
    }
    assert!(began.len() > KILLS * 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_writer_holds_nothing_once_it_is_killed() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let mut writer = start(&state, 0);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    lines.by_ref().take(50).for_each(|line| _ = line.unwrap());
    let pid = nix::unistd::Pid::from_raw(writer.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSTOP).unwrap();
    // A reader beside it, as `toolhost state check` is, waits for nothing.
    let file = rusqlite::Connection::open(state.join("store.db")).unwrap();
    file.busy_timeout(Duration::ZERO).unwrap();
    let count: i64 = file
        .query_row("SELECT count(*) FROM calls", [], |row| row.get(0))
        .unwrap();
    assert!(count > 0);
    drop(file);
    writer.kill().unwrap();
    writer.wait().unwrap();
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(store.begin(call("chat-1", "x")).await.unwrap(), Begun::New);
}

/// Repeats every call that a writer says has begun. None may begin again.
async fn repeat(store: &Sqlite, said: &[String]) {
    let began = said.iter().filter_map(|line| line.strip_prefix("began "));
    for number in began {
        let chat = format!("chat-{}", number.parse::<usize>().unwrap() % 7);
        let begun = store.begin(call(&chat, number)).await.unwrap();
        assert_ne!(begun, Begun::New, "{number}");
    }
}

fn signal(writer: &Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(writer.id().cast_signed());
    nix::sys::signal::kill(pid, signal).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_is_stopped_again_and_again_loses_nothing() {
    use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let mut writer = start(&state, 1);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    for round in 0..40 {
        let some = lines.by_ref().take(1 + round * 7 % 20);
        said.extend(some.map(Result::unwrap));
        signal(&writer, SIGSTOP);
        signal(&writer, SIGCONT);
    }
    signal(&writer, SIGSTOP);
    writer.kill().unwrap();
    said.extend(lines.map(Result::unwrap));
    writer.wait().unwrap();
    assert!(said.len() > 300);
    repeat(&open(&state, Durability::Host).unwrap(), &said).await;
    assert_eq!(problems(&state), [""; 0]);
}

/// The writer ends at the first change that is refused.
#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_whose_disk_fills_loses_nothing() {
    for lines in [1, 40, 300, 700] {
        let disk = Mounted::of(&["-t", "tmpfs", "-o", "mode=700,size=24m", "toolhost-test"]);
        let state = disk.path().join("state");
        let said = act_after(start(&state, 1), lines, |_| disk.fill());
        assert!(said.len() >= lines);
        disk.empty();
        repeat(&open(&state, Durability::Host).unwrap(), &said).await;
        assert_eq!(problems(&state), [""; 0], "{lines}");
    }
}

/// The next host reads what the last one wrote, and keeps its own calls in memory.
#[needs(mount, program = "mkfs.ext4")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_whose_disk_turns_read_only_loses_nothing() {
    for lines in [40, 300, 700] {
        let disk = Loop::new();
        let state = disk.path().join("state");
        let said = act_after(start(&state, 1), lines, |_| disk.fail());
        assert!(said.len() >= lines);
        let directory = StateDir::open(&state).unwrap();
        assert!(Sqlite::open(&directory, Durability::Host).is_err());
        let store = Sqlite::in_memory_of(&directory, ErrorKind::ReadOnlyFilesystem).unwrap();
        repeat(&store, &said).await;
    }
}
