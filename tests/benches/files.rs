//! The cost of reading, writing and editing files through the tools, next to programs that do the same, in one run:
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

#[allow(dead_code, reason = "other benchmarks use the rest")]
mod hosts;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_core::Host;

use hosts::call;
use report::{Report, median};

/// A tool, and the program that it is compared with.
struct Pair {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    program: &'static [&'static str],
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

/// Searches of a tree of 60,000 files, next to ripgrep.
fn searches() -> [Pair; 3] {
    [
        Pair {
            name: "60,000 files, a word in 1 % of them",
            tool: "search_files",
            arguments: json!({ "pattern": "needle", "output": "counts" }),
            program: &["rg", "--count", "needle"],
        },
        Pair {
            name: "60,000 files, a regular expression, lines",
            tool: "search_files",
            arguments: json!({ "pattern": r"\bneedle_\d+\(", "limit": 2000 }),
            program: &["rg", "--line-number", "--sort=path", r"\bneedle_\d+\("],
        },
        Pair {
            name: "60,000 files by name",
            tool: "find_files",
            arguments: json!({ "glob": "*_7.rs", "limit": 2000 }),
            program: &["rg", "--files", "--glob", "*_7.rs"],
        },
    ]
}

/// Makes that tree: 1,000 directories, whose files have 4 KiB each.
fn plant(workspace: &Path) {
    let line = "    let value = compute(argument, other);\n";
    let text = line.repeat(4096 / line.len());
    std::fs::write(workspace.join(".gitignore"), "target/\n*.o\n").expect("there is space");
    for directory in 0..1000 {
        let directory_path = workspace.join(format!("crate_{}/src/{directory}", directory % 20));
        std::fs::create_dir_all(&directory_path).expect("there is space");
        for file in 0..60 {
            let has_word = (directory * 60 + file) % 100 == 0;
            let word = if has_word { "needle_7()\n" } else { "" };
            let path = directory_path.join(format!("file_{file}.rs"));
            std::fs::write(path, format!("{text}{word}")).expect("there is space");
        }
    }
}

fn compare(
    report: &mut Report,
    runtime: &Runtime,
    workspace: &Path,
    pairs: impl IntoIterator<Item = Pair>,
    rounds: usize,
) {
    let builder = Host::builder(workspace);
    let host = runtime.block_on(builder.start()).expect("the host starts");
    for pair in pairs {
        let (mut tool, mut program) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let time = call(&host, "bench", pair.tool, &pair.arguments);
            tool.push(runtime.block_on(time));
            let begun = Instant::now();
            run(workspace, pair.program);
            program.push(begun.elapsed());
        }
        let measure = format!("`{}`: {}", pair.tool, pair.name);
        let peer = format!("`{}`", pair.program.join(" "));
        report.pair(&measure, median(&mut tool), &peer, median(&mut program));
    }
    runtime.block_on(host.shutdown());
}

fn main() {
    let mut report = Report::new();
    let rounds = report.rounds(200);
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
    compare(&mut report, &runtime, workspace.path(), pairs(), rounds);
    if Command::new("rg").arg("--version").output().is_err() {
        println!("ripgrep (`rg`) is not there: nothing is searched");
        return;
    }
    let tree = tempfile::tempdir().expect("there is a place for a workspace");
    plant(tree.path());
    compare(&mut report, &runtime, tree.path(), searches(), rounds / 10);
}
