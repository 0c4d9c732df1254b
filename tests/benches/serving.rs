//! The cost of a trivial tool from outside: `cargo bench --bench serving`, with the parts `pipes`, `http` and `processor` behind `--`.
//!
//! Over MCP's standard input and output in turns with other servers, as far as they are found; see `serving/peers.rs`. Over HTTP as
//! many calls a second as a server on one core answers, and its processor time, next to an axum handler that returns the same JSON; and
//! its processor time on two cores.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails by panicking"
)]

mod connection;
#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
#[path = "serving/peers.rs"]
mod peers;
#[path = "serving/pipes.rs"]
mod pipes;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
mod server;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod system;

use std::time::{Duration, Instant};

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::put;

use connection::Connection;
use pipes::Pipes;
use report::{Report, median};
use server::{Server, on_processor, toolhost};
use system::processor_time;

/// How many clients call over HTTP at once.
const CONNECTIONS: usize = 16;

const TRIVIAL: &str = r#"{"tool":"t","arguments":{}}"#;

/// A call of a tool in Rust that asks the host for something.
const LIST: &str = r#"{"tool":"process_list","arguments":{}}"#;

/// With this variable, this program is the axum handler, which returns the variable's value.
const REPLY: &str = "TOOLHOST_BENCH_REPLY";

fn over_pipes(report: &mut Report) {
    let directory = tempfile::tempdir().expect("there is a place");
    let plugin = Some(toolhost_guests::CONFORMANCE);
    let ours = toolhost(directory.path(), "mcp", plugin);
    let ours = ("toolhost".to_owned(), ours);
    let all = std::iter::once(ours).chain(peers::found());
    let mut all: Vec<_> = all
        .map(|(name, command)| (name, Pipes::start(command), Vec::new()))
        .collect();
    for (size, text) in [
        ("5 bytes", "hello".to_owned()),
        ("10 KiB", "x".repeat(10 << 10)),
    ] {
        for round in 0..report.rounds(2000) + 50 {
            for (_, pipes, times) in &mut all {
                let time = pipes.echo(&text);
                // The first rounds only make everything warm.
                times.extend((round >= 50).then_some(time));
            }
        }
        let mut medians = all.iter_mut().map(|(name, _, times)| {
            let time = median(times);
            times.clear();
            (name.clone(), time)
        });
        let (_, ours) = medians.next().expect("the first one is ours");
        for (name, theirs) in medians {
            let server = name.split(' ').next().unwrap_or_default();
            let measure = format!("echo of {size} over MCP's pipes, against {server}");
            report.pair(&measure, ours, &name, theirs);
        }
    }
}

/// Keeps a call under way on each connection, and returns how many calls a second are answered. One thread is enough, and takes less
/// of the machine than one for each connection.
fn rate(server: &Server, run: usize, time: Duration) -> f64 {
    let chats = (0..CONNECTIONS).map(|number| format!("run-{run}-chat-{number}"));
    let mut connections: Vec<_> = chats
        .map(|chat| (Connection::open(&server.address), chat))
        .collect();
    let begun = Instant::now();
    let mut round = 0;
    for (connection, chat) in &mut connections {
        connection.send(chat, "call-0", TRIVIAL);
    }
    while begun.elapsed() < time {
        round += 1;
        for (connection, chat) in &mut connections {
            connection.receive();
            connection.send(chat, &format!("call-{round}"), TRIVIAL);
        }
    }
    (round * CONNECTIONS) as f64 / begun.elapsed().as_secs_f64()
}

fn over_http(report: &mut Report) {
    let directory = tempfile::tempdir().expect("there is a place");
    let trivial = guest::guest("well_behaved");
    let serve = toolhost(directory.path(), "serve", Some(&trivial));
    let ours = Server::start(on_processor("0", &serve), "t");
    let reply = Connection::open(&ours.address)
        .call("reply", "1", TRIVIAL)
        .to_owned();
    let mut handler = std::process::Command::new(std::env::current_exe().expect("there is one"));
    handler.env(REPLY, reply);
    let theirs = Server::of(on_processor("0", &handler));
    let (mut ours_rates, mut theirs_rates) = (Vec::new(), Vec::new());
    for run in 0..5 {
        let time = Duration::from_millis(if report.quick { 200 } else { 3000 });
        ours_rates.push(rate(&ours, run, time));
        theirs_rates.push(rate(&theirs, run, time));
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let (ours, theirs) = (median(&mut ours_rates), median(&mut theirs_rates));
    report.compare(
        "trivial calls over HTTP, the server on one core, 16 connections",
        &format!("{ours:.0}/s"),
        &format!("axum handler that returns the same JSON: {theirs:.0}/s"),
        ours / theirs,
    );
}

/// Makes calls one after the other, and returns the processor time of the server for each.
fn cost(server: &Server, run: usize, calls: u32) -> Duration {
    let mut connection = Connection::open(&server.address);
    let before = processor_time(server.child.id());
    for call in 0..calls {
        connection.call("cost", &format!("run-{run}-call-{call}"), LIST);
    }
    (processor_time(server.child.id()) - before) / calls
}

/// Keeps calls under way, and returns the processor time of the server for each.
fn cost_of_many(server: &Server, run: usize, time: Duration) -> Duration {
    let before = processor_time(server.child.id());
    let begun = Instant::now();
    let calls = rate(server, run, time) * begun.elapsed().as_secs_f64();
    (processor_time(server.child.id()) - before).div_f64(calls)
}

fn processor(report: &mut Report) {
    let directories = [(); 3].map(|()| tempfile::tempdir().expect("there is a place"));
    let trivial = guest::guest("well_behaved");
    let serve = |at: usize| toolhost(directories[at].path(), "serve", Some(&trivial));
    let ours = Server::start(serve(0), "t");
    let reply = Connection::open(&ours.address)
        .call("reply", "1", LIST)
        .to_owned();
    let mut handler = std::process::Command::new(std::env::current_exe().expect("there is one"));
    handler.env(REPLY, reply);
    let theirs = Server::of(handler);
    let cores = [(1, "0"), (2, "0,1")];
    let cores = cores.map(|(at, cores)| Server::start(on_processor(cores, &serve(at)), "t"));
    let mut times = [const { Vec::new() }; 4];
    let time = Duration::from_millis(if report.quick { 100 } else { 500 });
    for run in 0..report.rounds(50) {
        let [one, other] = &cores;
        for (times, time) in times.iter_mut().zip([
            cost(&ours, run, 100),
            cost(&theirs, run, 100),
            cost_of_many(one, run, time),
            cost_of_many(other, run, time),
        ]) {
            times.push(time);
        }
    }
    let [ours, theirs, one, two] = times.each_mut().map(|times| median(times));
    report.pair(
        "`process_list` over HTTP, processor time of the server",
        ours,
        "axum handler that returns the same JSON",
        theirs,
    );
    report.pair(
        "a trivial call over HTTP, 16 connections, processor time of the server on two cores",
        two,
        "on one",
        one,
    );
}

/// Returns the same reply to every call, as the server of another process does.
#[tokio::main]
async fn handle(reply: String) {
    let answer = move || async move { ([(CONTENT_TYPE, "application/json")], reply) };
    let router = Router::new().route("/v1/chats/{chat}/calls/{call}", put(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    eprintln!("listening on http://{address}");
    axum::serve(listener, router).await.expect("it serves");
}

fn main() {
    if let Ok(reply) = std::env::var(REPLY) {
        return handle(reply);
    }
    let mut report = Report::new();
    if report.chosen("pipes") {
        over_pipes(&mut report);
    }
    if report.chosen("http") {
        over_http(&mut report);
    }
    if report.chosen("processor") {
        processor(&mut report);
    }
}
