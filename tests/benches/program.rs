//! The cost of the program as a whole: `cargo bench --bench program`. A call from the command line, next to a plain shell; and the
//! memory and the wake-ups of a server that has nothing to do.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, fails by panicking, and starts the programs that it compares with"
)]

#[allow(dead_code, reason = "other benchmarks use the rest")]
mod connection;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod server;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod system;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use connection::Connection;
use report::{Report, median};
use server::{Server, toolhost};
use system::{family, pss, switches, switches_since};

/// Runs a program to its end, and returns how long that takes.
fn timed(mut command: Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().expect("it starts");
    assert!(status.success());
    begun.elapsed()
}

fn from_the_command_line(report: &mut Report, directory: &Path) {
    let ours = || {
        let mut command = toolhost(directory, "call", None);
        command.args(["execute", r#"{"command":"true"}"#]);
        timed(command)
    };
    let version = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
        command.arg("--version");
        timed(command)
    };
    let shell = || {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "true"]);
        timed(command)
    };
    // The first call compiles the embedded plugins.
    ours();
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..report.rounds(200) {
        for (times, time) in times.iter_mut().zip([shell(), ours(), version()]) {
            times.push(time);
        }
    }
    let [theirs, ours, version] = times.each_mut().map(|times| median(times));
    report.pair(
        "`toolhost call execute true`, warm",
        ours,
        "`sh -c true`",
        theirs,
    );
    report.pair("`toolhost --version`", version, "`sh -c true`", theirs);
}

fn idle(report: &mut Report, directory: &Path) {
    let server = Server::start(toolhost(directory, "serve", None), "execute");
    let mut connection = Connection::open(&server.address);
    let body = r#"{"tool":"execute","arguments":{"command":"true"}}"#;
    for call in 0..10 {
        connection.call("idle", &format!("call-{call}"), body);
    }
    drop(connection);
    // Until idle threads have ended, and the pages of the last call are written.
    std::thread::sleep(Duration::from_secs(if report.quick { 15 } else { 60 }));
    let count = || {
        family(server.child.id())
            .into_iter()
            .flat_map(switches)
            .collect()
    };
    let before = count();
    std::thread::sleep(Duration::from_secs(10));
    let wakes = switches_since(&before, &count());
    let family = family(server.child.id());
    let (all, others) = (family.len(), family.len() - 1);
    let host = pss(server.child.id()) as f64 / 1024.0;
    let total: u64 = family.into_iter().map(pss).sum();
    let total = total as f64 / 1024.0;
    report.value(
        "idle `toolhost serve`, wake-ups in 10 s of all its processes",
        format!("{wakes} in {all} processes"),
    );
    if host == 0.0 {
        println!("not measured: the kernel tells root alone how much memory a server has");
        return;
    }
    report.value(
        "idle `toolhost serve`, memory (PSS) with its helper processes",
        format!("{total:.1} MiB, of which {host:.1} the host and the rest {others} others"),
    );
}

fn main() {
    let mut report = Report::new();
    let directory = tempfile::tempdir().expect("there is a place");
    if report.chosen("call") {
        from_the_command_line(&mut report, directory.path());
    }
    if report.chosen("idle") {
        idle(&mut report, directory.path());
    }
}
