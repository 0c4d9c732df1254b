//! The cost of a call in a number that does not depend on the speed of the machine: instructions.
//!
//! The bound is wide, so that only a change of kind exceeds it. If such a change is wanted, write the new number down here. How often the
//! threads of the host wait depends on the load: `cargo bench --bench call` counts that.

use std::process::{Command, Stdio};

use serde_json::json;
use toolhost_needs::needs;
use toolhost_workspace::files::FilesGrant;

use crate::guest::{guest, options};
use crate::harness::{call, request};

/// Instructions of the host for a trivial call, in a development build.
const INSTRUCTIONS_OF_A_CALL: u64 = 1_105_000;

/// How many calls the other process makes.
const COUNT: &str = "COSTS_COUNT";

/// Returns how many instructions a process of its own takes for this many calls.
fn instructions(count: u64) -> u64 {
    let test = std::env::current_exe().unwrap();
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(test)
        .args(["--exact", "costs::calls_of_another_process", "--ignored"])
        .env(COUNT, count.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    number(&text, "I   refs:")
}

/// Returns the number after a word.
fn number(text: &str, word: &str) -> u64 {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("{text}"));
    let digits = rest.trim_start().chars().filter(|digit| *digit != ',');
    let digits: String = digits.take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[needs(program = "valgrind")]
#[test]
fn a_call_takes_no_more_instructions() {
    let (few, many) = (instructions(10), instructions(210));
    let each = (many - few) / 200;
    println!("{each} instructions");
    let most = INSTRUCTIONS_OF_A_CALL + INSTRUCTIONS_OF_A_CALL / 4;
    assert!(each <= most, "{each} instructions");
}

#[test]
#[ignore = "not a test: calls that another test counts"]
fn calls_of_another_process() {
    let count: usize = std::env::var(COUNT).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
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
