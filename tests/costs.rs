//! The cost of a call in numbers that do not depend on the speed of the machine: instructions, allocations and system calls.
//!
//! The bounds are wide, so that only a change of kind exceeds them. If such a change is wanted, write the new number down here. How often
//! the threads of the host wait depends on the load: `cargo bench --bench call` counts that.

use std::process::{Command, Stdio};

use serde_json::json;
use toolhost_needs::needs;
use toolhost_workspace::files::FilesGrant;

use crate::guest::{guest, options};
use crate::harness::{call, request};

/// Instructions of the host for a trivial call, in a development build.
const INSTRUCTIONS_OF_A_CALL: u64 = 1_245_000;

/// Blocks of memory that the host takes for a trivial call.
const ALLOCATIONS_OF_A_CALL: u64 = 276;

/// System calls of the host for a trivial call, without those that wait for another thread or wake it.
const SYSTEM_CALLS_OF_A_CALL: u64 = 13;

/// How many calls the other process makes.
const COUNT: &str = "COSTS_COUNT";

/// Runs a process of its own that makes this many calls, under a program that counts, and returns what this says.
fn counted(program: &str, arguments: &[&str], calls: u64) -> String {
    let output = Command::new(program)
        .args(arguments)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "costs::calls_of_another_process", "--ignored"])
        .env(COUNT, calls.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// Returns the number after a word.
fn number(text: &str, word: &str) -> u64 {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("{text}"));
    let digits = rest.trim_start().chars().filter(|digit| *digit != ',');
    let digits: String = digits.take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Checks that a call costs no more than a quarter above this. `count` returns the cost of so many calls and the start.
fn check(what: &str, known: u64, count: impl Fn(u64) -> u64) {
    let (few, many) = (count(10), count(210));
    let each = (many - few) / 200;
    println!("{each} {what}");
    assert!(each <= known + known / 4, "{each} {what}");
}

#[needs(program = "valgrind")]
#[test]
fn a_call_takes_no_more_instructions() {
    let arguments = [
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
    ];
    check("instructions", INSTRUCTIONS_OF_A_CALL, |calls| {
        number(&counted("valgrind", &arguments, calls), "I   refs:")
    });
}

#[needs(program = "valgrind")]
#[test]
fn a_call_takes_no_more_allocations() {
    let arguments = ["--tool=dhat", "--dhat-out-file=/dev/null"];
    check("allocations", ALLOCATIONS_OF_A_CALL, |calls| {
        let text = counted("valgrind", &arguments, calls);
        let (_, total) = text
            .split_once("Total:")
            .unwrap_or_else(|| panic!("{text}"));
        number(total, "bytes in")
    });
}

#[needs(program = "strace")]
#[test]
fn a_call_takes_no_more_system_calls() {
    // With one worker, only the thread that interrupts guests waits or is woken.
    let arguments = [
        "-f",
        "-c",
        "-U",
        "name,calls",
        "-e",
        "trace=!futex,epoll_wait,sched_yield",
    ];
    check("system calls", SYSTEM_CALLS_OF_A_CALL, |calls| {
        number(&counted("strace", &arguments, calls), "\ntotal")
    });
}

#[test]
#[ignore = "not a test: calls that another test counts"]
fn calls_of_another_process() {
    let count: usize = std::env::var(COUNT).unwrap().parse().unwrap();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let task = async move {
        let host = toolhost_core::Host::builder(workspace.path())
            .without_shell()
            .plugin(guest("well_behaved"), options("trivial"))
            .files(FilesGrant::None);
        let host = host.start().await.unwrap();
        for _ in 0..count {
            let outcome = call(&host, request("costs", "t", &json!({}))).await;
            assert!(!outcome.unwrap().is_error());
        }
        host.shutdown().await;
    };
    runtime.block_on(runtime.spawn(task)).unwrap();
}
