//! What a trivial tool costs from outside: `cargo bench --bench serving`.
//!
//! Over MCP's standard input and output one call after the other, next to servers that the official SDKs for Python and TypeScript
//! make (where `tests/clients/prepare` has installed them). Over HTTP as many calls a second as a server on one core answers, with
//! all limits on and the journal written, from 16 connections.

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

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use connection::{Connection, TOKEN};
use serde_json::{Value, json};

/// How many clients call over HTTP at once.
const CONNECTIONS: usize = 16;

/// The server over two pipes.
struct Pipes {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    last: u64,
}

impl Pipes {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut pipes = Self {
            child,
            output,
            last: 0,
        };
        let client = json!({ "name": "bench", "version": "1" });
        pipes.request(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        );
        pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        // A plugin may still be compiled.
        while !pipes.tools().iter().any(|tool| tool["name"] == "t") {
            std::thread::sleep(Duration::from_millis(100));
        }
        pipes
    }

    fn tools(&mut self) -> Vec<Value> {
        let listed = self.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array();
        tools.expect("there is a list").clone()
    }

    fn send(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().expect("it is piped");
        writeln!(input, "{message}").expect("it reads");
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it can be read");
            assert_ne!(read, 0, "it ended");
            let message: Value = serde_json::from_str(&line).expect("it is JSON");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls the tool, and returns how long each call took.
    fn measure(&mut self, rounds: usize) -> Vec<Duration> {
        let call = json!({ "name": "t", "arguments": {} });
        let mut times: Vec<_> = (0..rounds)
            .map(|_| {
                let begun = Instant::now();
                let reply = self.request("tools/call", &call);
                let time = begun.elapsed();
                assert_eq!(reply["result"]["content"][0]["text"], "hello", "{reply}");
                time
            })
            .collect();
        times.sort_unstable();
        times
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        _ = self.child.wait();
    }
}

/// A command line of the program, in a workspace of its own, with a plugin that replies "hello".
fn toolhost(directory: &Path, subcommand: &str) -> Command {
    let component = directory.join("trivial.wasm");
    std::fs::write(&component, guest::guest("well_behaved")).expect("there is room");
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
    command.arg("--workspace").arg(directory);
    command.arg("--state-dir").arg(directory.join(".state"));
    command.args(["--log", "error", subcommand, "--plugin"]);
    command.arg(component);
    command
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Servers that others make, as far as they are installed.
fn peers() -> Vec<(&'static str, Command)> {
    let clients = std::env::var_os("TOOLHOST_CLIENTS")
        .map_or_else(|| root().join("target/clients"), PathBuf::from);
    let mut peers = Vec::new();
    let python = clients.join("python/bin/python");
    if python.exists() {
        let mut command = Command::new(python);
        command.arg(root().join("tests/benches/serving/peer.py"));
        peers.push(("mcp for Python, a function", command));
    }
    let modules = clients.join("node/node_modules");
    if modules.exists() {
        // What it imports is looked for beside it.
        let script = clients.join("node/peer.mjs");
        let source = root().join("tests/benches/serving/peer.mjs");
        std::fs::copy(source, &script).expect("there is room");
        let mut command = Command::new(modules.join("node/bin/node"));
        command.arg(script);
        peers.push((
            "@modelcontextprotocol/sdk for TypeScript, a function",
            command,
        ));
    }
    peers
}

fn over_pipes(rounds: usize) {
    println!(
        "tools/call of a trivial tool over MCP's standard input and output, {rounds} in a row:\n"
    );
    println!("| server | p50, µs | p99, µs | against toolhost |");
    println!("|---|---|---|---|");
    let directory = tempfile::tempdir().expect("there is a place");
    let command = toolhost(directory.path(), "mcp");
    let mut base = None;
    let ours = std::iter::once(("toolhost mcp, a component", command));
    for (name, command) in ours.chain(peers()) {
        let mut pipes = Pipes::start(command);
        pipes.measure(rounds / 10);
        let times = pipes.measure(rounds);
        let at = |percent: usize| times[times.len() * percent / 100];
        let base = *base.get_or_insert(at(50));
        println!(
            "| {name} | {} | {} | {:.2} |",
            at(50).as_micros(),
            at(99).as_micros(),
            at(50).as_secs_f64() / base.as_secs_f64()
        );
    }
}

/// Calls on one connection until it is told to stop, and returns how many calls were answered.
fn call_on(address: &str, number: usize, over: &AtomicBool) -> usize {
    let mut connection = Connection::open(address);
    let chat = format!("chat-{number}");
    let mut count = 0;
    while !over.load(Ordering::Relaxed) {
        connection.call(&chat, &format!("call-{count}"));
        count += 1;
    }
    count
}

fn over_http(time: Duration) {
    let directory = tempfile::tempdir().expect("there is a place");
    let ours = toolhost(directory.path(), "serve");
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(ours.get_program());
    command.args(ours.get_args());
    command.args(["--listen", "127.0.0.1:0"]);
    command.env("TOOLHOST_TOKEN", TOKEN).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        println!("\nHTTP is not measured: there is no taskset");
        return;
    };
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut lines = lines.map_while(Result::ok);
    let address = lines
        .find_map(|line| line.strip_prefix("listening on http://").map(str::to_owned))
        .expect("it says where it listens");
    std::thread::spawn(move || lines.count());
    let run = |time: Duration| {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..CONNECTIONS)
                .map(|number| {
                    let (address, over) = (&address, &over);
                    // Those of the first run are not those of the second.
                    let number = number + usize::try_from(time.as_millis()).unwrap_or(0) * 100;
                    scope.spawn(move || call_on(address, number, over))
                })
                .collect();
            std::thread::sleep(time);
            over.store(true, Ordering::Relaxed);
            let counts = callers
                .into_iter()
                .map(|caller| caller.join().expect("it ends"));
            counts.sum::<usize>()
        })
    };
    // Until the plugin is there, the server does not know its tool.
    wait_for_tool(&address);
    run(time / 10);
    let begun = Instant::now();
    let count = run(time);
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    println!(
        "\nHTTP, a server on one core, {CONNECTIONS} connections: {rate:.0} calls of a trivial tool a second"
    );
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

fn wait_for_tool(address: &str) {
    loop {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let request = format!(
            "GET /v1/tools HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("it answers");
        if reply.contains(r#""name":"t""#) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is = |name: &str| arguments.iter().any(|argument| argument == name);
    // `cargo test --benches` only wants to see that it runs.
    let smoke = !is("--bench") || is("--test");
    let (rounds, time) = match smoke {
        true => (20, Duration::from_millis(200)),
        false => (5000, Duration::from_secs(10)),
    };
    over_pipes(rounds);
    over_http(time);
}
