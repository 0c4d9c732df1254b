//! The cost of a call in numbers that do not depend on the speed of the machine: instructions, and how often a thread waits.
//!
//! The bounds are wide, so that only a change of kind exceeds them. If such a change is wanted, write the new number down here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use toolhost_needs::needs;
use toolhost_workspace::files::FilesGrant;

use crate::guest::{guest, options};
use crate::harness::{call, request, shared_state, spawner, without_namespaces};

/// Voluntary context switches of the host's threads for a trivial call, in hundredths; up to 132 beside loops.
const SWITCHES_OF_A_CALL: u64 = 75;
/// The same for `execute true`.
const SWITCHES_OF_A_COMMAND: u64 = 1110;
/// Instructions of the host for a trivial call, in a development build.
const INSTRUCTIONS_OF_A_CALL: u64 = 1_105_000;

/// How often the calls are counted, at most.
const RUNS: usize = 5;

/// The tool that the other process calls, and how often.
const TOOL: &str = "COSTS_TOOL";
const COUNT: &str = "COSTS_COUNT";

fn beyond(number: u64) -> u64 {
    number + number / 4
}

/// Runs calls in a process of their own, in which no other test waits, and returns what it prints.
fn calls(runner: Option<&[&str]>, tool: &str, count: u64) -> String {
    let test = std::env::current_exe().unwrap();
    let mut command = match runner {
        None => Command::new(test),
        Some(runner) => {
            let mut command = Command::new(runner[0]);
            command.args(&runner[1..]).arg(test);
            command
        }
    };
    command.args(["--exact", "costs::calls_of_another_process", "--ignored"]);
    command.arg("--nocapture").stdin(Stdio::null());
    command.env(TOOL, tool).env(COUNT, count.to_string());
    let output = command.output().unwrap();
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

#[test]
fn a_call_waits_no_more_often() {
    for (tool, expected) in [
        ("t", SWITCHES_OF_A_CALL),
        ("execute", SWITCHES_OF_A_COMMAND),
    ] {
        let count = 300;
        // On a busy machine, a thread waits where another one would have been in time: one more is allowed, and the least of some runs
        // counts. A call that always waits more often does so in each of them.
        let most = beyond(expected) + 100;
        let is_within = (0..RUNS).any(|_| {
            let each = number(&calls(None, tool, count), "switches") * 100 / count;
            println!("{tool}: {each} hundredths");
            each <= most
        });
        assert!(is_within, "{tool} waits more often than {most} hundredths");
    }
}

#[needs(program = "valgrind")]
#[test]
fn a_call_takes_no_more_instructions() {
    let cachegrind = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
    ];
    let run = |count| number(&calls(Some(&cachegrind), "t", count), "I   refs:");
    let (few, many) = (run(10), run(210));
    let each = (many - few) / 200;
    println!("{each} instructions");
    assert!(
        each <= beyond(INSTRUCTIONS_OF_A_CALL),
        "{each} instructions"
    );
}

#[test]
#[ignore = "not a test: calls that another test counts"]
fn calls_of_another_process() {
    let tool = std::env::var(TOOL).unwrap();
    let count: usize = std::env::var(COUNT).unwrap().parse().unwrap();
    on_two_processors();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let task = async move {
        let builder = toolhost_core::Host::builder(workspace.path());
        let builder = match tool.as_str() {
            "execute" => builder
                .spawner(spawner())
                .sandbox(without_namespaces())
                .state_dir(shared_state("state")),
            _ => builder
                .without_shell()
                .plugin(guest("well_behaved"), options("trivial")),
        };
        let host = builder.files(FilesGrant::None).start().await.unwrap();
        let arguments = match tool.as_str() {
            "execute" => json!({ "command": "true" }),
            _ => json!({}),
        };
        let some = async |count| {
            for _ in 0..count {
                let outcome = call(&host, request("costs", &tool, &arguments)).await;
                assert!(!outcome.unwrap().is_error());
            }
        };
        some(10).await;
        let before = switches();
        some(count).await;
        println!("switches {}", since(&before, &switches()));
        host.shutdown().await;
    };
    runtime.block_on(runtime.spawn(task)).unwrap();
}

/// Keeps this process to two processors: where there are more, other threads take over more often.
fn on_two_processors() {
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    let numbers = (0..rustix::thread::CpuSet::MAX_CPU).filter(|number| all.is_set(*number));
    let mut two = rustix::thread::CpuSet::new();
    numbers.take(2).for_each(|number| two.set(number));
    rustix::thread::sched_setaffinity(None, &two).unwrap();
}

/// How often each thread of this process has waited.
fn switches() -> HashMap<PathBuf, u64> {
    let of_one = |thread: &Path| {
        let text = std::fs::read_to_string(thread.join("status")).ok()?;
        let mut lines = text.lines();
        let waits = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        waits.trim().parse().ok()
    };
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let each = threads.filter_map(|thread| Some((thread.path(), of_one(&thread.path())?)));
    each.collect()
}

/// How often threads have waited meanwhile.
fn since(before: &HashMap<PathBuf, u64>, after: &HashMap<PathBuf, u64>) -> u64 {
    let each = after.iter();
    each.map(|(thread, count)| count - before.get(thread).unwrap_or(&0))
        .sum()
}
