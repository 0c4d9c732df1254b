//! The checks that run a command: whether it starts, and whether every process of it can be ended.

use std::sync::Arc;
use std::time::Duration;

use super::Check;
use toolhost_local::process::{Config, Process, Registry};
use toolhost_service::errors;
use toolhost_store::HostState;
use toolhost_workspace::process::{Command, Containment, Error, Kind, State, WaitOptions};

/// How long a probe may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn checks(config: Config, state: HostState) -> Vec<Check> {
    let registry = match Registry::open(config, &state).await {
        Ok(registry) => registry,
        Err(error) => {
            let error = errors::full_text(&error.into());
            let advice = "commands need a directory for their output: see TMPDIR and --workspace";
            return vec![Check::failed("commands", error, advice)];
        }
    };
    let mut checks = vec![containment(&registry.containment())];
    let starts = format!("a command starts in {}", registry.shell());
    checks.push(match end(&registry).await {
        Ok(true) => Check::ok(
            "commands",
            format!("{starts}, and ends with everything that it started"),
        ),
        Ok(false) if registry.containment().kind == Kind::ProcessGroup => Check::warning(
            "commands",
            format!("{starts}, and what leaves its process group outlives it"),
            "run commands below a supervisor: see containment",
        ),
        Ok(false) => Check::failed(
            "commands",
            format!("{starts}, and something that it started could not be ended"),
            "please report this, with the version of the kernel",
        ),
        Err(error) => Check::failed(
            "commands",
            format!("no command starts: {}", errors::full_text(&error.into())),
            "commands need a shell: bash or sh, in /bin, /usr/bin or PATH; see --shell",
        ),
    });
    registry.shutdown().await;
    checks
}

fn containment(containment: &Containment) -> Check {
    let text = containment.kind.to_string();
    match &containment.reason {
        None => Check::ok("containment", text),
        Some(reason) if containment.kind == Kind::Supervisor => {
            Check::ok("containment", format!("{text}; no cgroup, as {reason}"))
        }
        Some(reason) => Check::warning("containment", text, reason.clone()),
    }
}

/// Starts a command that leaves its process group, ends it, and checks that none of its processes is left.
async fn end(registry: &Arc<Registry>) -> Result<bool, Error> {
    // A word in its arguments, because in a namespace of its own it does not know the number that it has for the host.
    let mark = format!("toolhost-doctor-{}", std::process::id());
    let command = Command {
        command: format!("setsid sh -c 'sleep 1000; :' {mark} >/dev/null 2>&1 &"),
        ..Command::default()
    };
    let process = registry.start(None, command).await?;
    ended(&process).await?;
    let state = registry.end(None, process.id()).await?;
    Ok(!is_running(mark.as_bytes()) && matches!(state, State::Exited(_)))
}

/// Returns whether a process has this word as its last argument.
fn is_running(word: &[u8]) -> bool {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut arguments =
        entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    arguments.any(|line| {
        line.strip_suffix(b"\0")
            .is_some_and(|line| line.ends_with(word))
    })
}

async fn ended(process: &Process) -> Result<(), Error> {
    let options = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    process.wait(&options).await.map(|_| ())
}
