//! What it costs to read, write and edit files through the tools, next to programs that do the same, in one run:
//! `cargo bench -p toolhost --bench files`.
//!
//! Pairs are measured in turns, so that a machine that becomes slower does so for both. Files are in the page cache.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, fails by panicking, and starts the programs that it compares with"
)]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_core::{Arguments, CallId, Host, Request};

/// A tool, and the program that it is compared with.
struct Pair {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    program: &'static [&'static str],
}

async fn call(host: &Host, tool: &str, arguments: &Value) -> Value {
    let request = Request::new(
        "bench".parse().expect("it is a chat id"),
        CallId::random(),
        tool,
        Arguments::parse(&arguments.to_string()).expect("they are arguments"),
    );
    let outcome = host.call(request).await.expect("the host takes the call");
    assert!(!outcome.is_error(), "{outcome:?}");
    let reply = outcome.result.as_ref().expect("the tool replies");
    let json = reply.structured().expect("it replies with JSON").get();
    serde_json::from_str(json).expect("it is JSON")
}

fn run(workspace: &Path, program: &[&str]) {
    let output = Command::new(program[0])
        .args(&program[1..])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .output()
        .expect("the program is there");
    assert!(output.status.success(), "{program:?}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn pairs() -> Vec<Pair> {
    let page = |offset: u64| json!({ "path": "log", "offset": offset });
    vec![
        Pair {
            name: "2,000 lines at the start of 100 MB",
            tool: "read_file",
            arguments: page(1),
            program: &["sed", "-n", "1,2000p", "log"],
        },
        Pair {
            name: "the same, where sed stops as well",
            tool: "read_file",
            arguments: page(1),
            program: &["sed", "-n", "1,2000p;2000q", "log"],
        },
        Pair {
            name: "2,000 lines in the middle of 100 MB",
            tool: "read_file",
            arguments: page(3_000_000),
            program: &["sed", "-n", "3000000,3001999p;3001999q", "log"],
        },
        Pair {
            name: "the end of a sparse file of 5 GiB",
            tool: "read_file",
            arguments: json!({ "path": "sparse", "offset": 3 }),
            program: &["tail", "-n", "1", "sparse"],
        },
        Pair {
            name: "a file of 40 lines",
            tool: "read_file",
            arguments: json!({ "path": "small" }),
            program: &["cat", "-n", "small"],
        },
        Pair {
            name: "one edit in a file of 1 MiB, synced",
            tool: "edit_files",
            arguments: json!({ "files": [{ "path": "source", "edits": [
                { "old_text": "the last line", "new_text": "the last line" },
                { "old_text": "needle", "new_text": "needle" },
            ] }] }),
            program: &["sed", "-n", "s/needle/needle/p", "source"],
        },
        Pair {
            name: "write 1 KiB, synced",
            tool: "write_file",
            arguments: json!({ "path": "new", "content": "x".repeat(1024) }),
            program: &["dd", "if=small", "of=copy", "conv=fsync", "status=none"],
        },
    ]
}

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--bench") {
        200
    } else {
        1
    };
    let runtime = Runtime::new().expect("there are threads");
    let workspace = tempfile::tempdir().expect("there is a place for a workspace");
    let path = |name: &str| workspace.path().join(name);
    let write =
        |name: &str, text: String| std::fs::write(path(name), text).expect("there is space");
    write("log", "0123456789abcde\n".repeat(6_250_000));
    write("small", "let line = 40;\n".repeat(40));
    let source = "let value = compute(argument);\n".repeat(33_000);
    write("source", format!("{source}needle\n{source}the last line\n"));
    let sparse = std::fs::File::create(path("sparse")).expect("there is space");
    sparse.write_all_at(b"first\n", 0).expect("there is space");
    sparse
        .write_all_at(b"\nlast\n", 5 << 30)
        .expect("the file system has sparse files");
    let builder = Host::builder(workspace.path());
    let host = runtime.block_on(builder.start()).expect("the host starts");
    println!("{rounds} rounds, in turns; medians:");
    for pair in pairs() {
        let (mut tool, mut program) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let begun = Instant::now();
            runtime.block_on(call(&host, pair.tool, &pair.arguments));
            tool.push(begun.elapsed());
            let begun = Instant::now();
            run(workspace.path(), pair.program);
            program.push(begun.elapsed());
        }
        let (tool, program) = (median(tool), median(program));
        let ratio = tool.as_secs_f64() / program.as_secs_f64();
        println!(
            "  {:<36} {tool:>9.1?}  {} {program:>9.1?}  ratio {ratio:.2}",
            pair.name, pair.program[0]
        );
    }
    runtime.block_on(host.shutdown());
}
