//! What it costs to render an output in a guest, next to the same natively, in one run:
//! `cargo bench -p toolhost --bench rendering`.
//!
//! The outputs are larger than what a host keeps in memory, so that each rendering has two full windows of 32 KiB. What is
//! measured is a look at an ended process (`process_output` without a wait), in turns with a look at one that printed nothing.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost_core::{Arguments, CallId, Host, Outcome, Request};
use toolhost_local::process::{Config, Spawner};
use toolhost_view::{CAP, Windows, render};

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolhost");

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

async fn call(host: &Host, tool: &str, arguments: &Value) -> Arc<Outcome> {
    let request = Request::new(
        "bench".parse().expect("it is a chat id"),
        CallId::random(),
        tool,
        Arguments::parse(&arguments.to_string()).expect("they are arguments"),
    );
    host.call(request).await.expect("the host takes the call")
}

async fn json_of(host: &Host, tool: &str, arguments: &Value) -> Value {
    let outcome = call(host, tool, arguments).await;
    let reply = outcome.result.as_ref().expect("the tool replies");
    let json = reply.structured().expect("it replies with JSON").get();
    let json: Value = serde_json::from_str(json).expect("it is JSON");
    assert!(json["success"] == true, "{json}");
    json
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The windows of what a command prints.
fn windows(workspace: &Path, command: &str) -> (Vec<u8>, Vec<u8>, u64) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark compares with what it does itself"
    )]
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
    let rounds = if std::env::args().any(|argument| argument == "--bench") {
        500
    } else {
        1
    };
    let runtime = Runtime::new().expect("there are threads");
    let workspace = tempfile::tempdir().expect("there is a place for a workspace");
    let host = runtime.block_on(async {
        let mut config = Config::new(workspace.path());
        let spawner = Spawner::start_without_cgroup(Path::new(PROGRAM));
        config.spawner = Some(spawner.expect("the spawner starts"));
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
    for _ in 0..rounds {
        for (_, look, (head, tail, total), guest, native) in &mut looks {
            let begun = Instant::now();
            runtime.block_on(call(&host, "process_output", look));
            guest.push(begun.elapsed());
            let begun = Instant::now();
            let total = *total;
            std::hint::black_box(render(Windows { head, tail, total }, CAP));
            native.push(begun.elapsed());
        }
    }
    println!("{rounds} looks at each output, measured in turns; medians:");
    let mut nothing = Duration::ZERO;
    for (name, _, (_, _, total), guest, native) in looks {
        let (guest, native) = (median(guest), median(native));
        if total == 0 {
            nothing = guest;
        }
        let more = guest.saturating_sub(nothing);
        let ratio = more.as_secs_f64() / native.as_secs_f64();
        println!(
            "  {name:<22} {total:>7} bytes  call {guest:>9.1?}  more than for nothing {more:>9.1?}  natively {native:>9.1?}  ratio {ratio:.1}"
        );
    }
    runtime.block_on(host.shutdown());
}
