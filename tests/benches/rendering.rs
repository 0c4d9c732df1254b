//! The cost of rendering an output in a guest, next to the same natively, in one run:
//! `cargo bench -p toolhost --bench rendering`.
//!
//! The outputs are larger than what a host keeps in memory, so that each rendering has two full windows of 32 KiB. What is
//! measured is a look at an ended process (`process_output` without a wait), in turns with a look at one that printed nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

#[allow(dead_code, reason = "other benchmarks use the rest")]
mod hosts;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_core::Host;
use toolhost_local::process::Config;
use toolhost_view::{CAP, Windows, render};

use hosts::{call, request, spawner};
use report::{Report, median};

/// Kinds of output, and commands that print about 200 kB of each.
const OUTPUTS: [(&str, &str); 5] = [
    ("nothing", "true"),
    (
        "lines of a log",
        "seq -f '2026-11-22 10:00:00 worker %g: request served in 12 ms' 4000",
    ),
    (
        "the same in colours",
        r"seq -f '2026-11-22 10:00:00 XgworkerY %g: XrrequestY served in XG12Y ms' 4000 | sed 's/X\(.\)/\x1b[1;3\1m/g; s/Y/\x1b[0m/g; s/3[a-z]m/32m/g; s/3[A-Z]m/31m/g'",
    ),
    (
        "a progress bar",
        r"seq -f '[##########          ] %g of 8000' 8000 | tr '\n' '\r'",
    ),
    ("one line", "seq -s ' ' 40000 | tr -d '\\n'"),
];

async fn json_of(host: &Host, tool: &str, arguments: &Value) -> Value {
    let request = request("bench", tool, arguments);
    let outcome = host.call(request).await.expect("the host takes the call");
    let reply = outcome.result.as_ref().expect("the tool replies");
    let json = reply.structured().expect("it replies with JSON").get();
    let json: Value = serde_json::from_str(json).expect("it is JSON");
    assert!(json["success"] == true, "{json}");
    json
}

/// The windows of what a command prints.
fn windows(workspace: &Path, command: &str) -> (Vec<u8>, Vec<u8>, u64) {
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(workspace)
        .output()
        .expect("there is a shell")
        .stdout;
    let total = output.len() as u64;
    let (head, rest) = output.split_at(output.len().min(CAP));
    let (_, tail) = rest.split_at(rest.len().saturating_sub(CAP));
    (head.to_vec(), tail.to_vec(), total)
}

fn main() {
    let mut report = Report::new();
    let runtime = Runtime::new().expect("there are threads");
    let workspace = tempfile::tempdir().expect("there is a place for a workspace");
    let host = runtime.block_on(async {
        let mut config = Config::new(workspace.path());
        config.spawner = Some(spawner());
        let builder = Host::builder(workspace.path()).processes(config);
        builder.start().await.expect("the host starts")
    });
    let mut looks = Vec::new();
    for (name, command) in OUTPUTS {
        let arguments = json!({ "command": command, "run_in_background": true });
        let started = runtime.block_on(json_of(&host, "execute", &arguments));
        let id = started["background_process_id"].clone();
        let wait = json!({ "process_id": id, "wait_timeout": "1m" });
        let ended = runtime.block_on(json_of(&host, "process_output", &wait));
        assert!(ended["status"] == "exited", "{ended}");
        let look = json!({ "process_id": id, "wait_timeout": "0s" });
        looks.push((
            name,
            look,
            windows(workspace.path(), command),
            Vec::new(),
            Vec::new(),
        ));
    }
    for _ in 0..report.rounds(500) {
        for (_, look, (head, tail, total), guest, native) in &mut looks {
            guest.push(runtime.block_on(call(&host, "bench", "process_output", look)));
            let begun = Instant::now();
            let total = *total;
            std::hint::black_box(render(Windows { head, tail, total }, CAP));
            native.push(begun.elapsed());
        }
    }
    let mut nothing = Duration::ZERO;
    for (name, _, (_, _, total), mut guest, mut native) in looks {
        let (guest, native) = (median(&mut guest), median(&mut native));
        if total == 0 {
            nothing = guest;
            continue;
        }
        let measure = format!("rendering {name}, {} kB, for a model", total / 1000);
        let more = guest.saturating_sub(nothing);
        report.pair(&measure, more, "natively", native);
    }
    runtime.block_on(host.shutdown());
}
