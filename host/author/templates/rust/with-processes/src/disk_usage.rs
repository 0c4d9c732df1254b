//! The size of a directory, which a command measures.

use std::time::Duration;

use toolhost_sdk::prelude::*;
use toolhost_sdk::processes::{Host, Processes, StartOptions, State, WaitOptions};

/// Measures how much a file or directory of the workspace takes on disk.
#[tool(read_only)]
pub(crate) fn disk_usage(
    /// The path: absolute, or relative to the workspace.
    path: String,
) -> Result<Reply, ToolError> {
    measure(&Host, path)
}

/// Runs the command. Tests give it a fake that starts no process.
fn measure(processes: &dyn Processes, path: String) -> Result<Reply, ToolError> {
    let process = processes.start(StartOptions {
        // A variable, and not a part of the command: no path can be more than a path.
        command: r#"exec du -sh -- "$TARGET""#.to_owned(),
        env: vec![("TARGET".to_owned(), path)],
        ..StartOptions::default()
    })?;
    process.wait(&WaitOptions::at_most(Duration::from_secs(30)))?;
    let snapshot = process.snapshot()?;
    let output = String::from_utf8_lossy(&snapshot.head);
    match snapshot.state {
        State::Exited(status) if status.code == Some(0) => {
            Ok(Reply::text(output.split('\t').next().unwrap_or_default()))
        }
        _ => Ok(Reply::error(format!("du failed: {}", output.trim()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_sdk::testing::{FakeProcess, FakeProcesses};

    #[test]
    fn a_path_is_only_a_path() -> Result<(), ToolError> {
        let du = FakeProcess::new("p1").prints("12K\ta $(b)\n").exits(0);
        let processes = FakeProcesses::new().starts(du);
        let reply = measure(&processes, "a $(b)".into())?;
        assert_eq!(reply, Reply::text("12K"));
        assert_eq!(processes.started()[0].env[0].1, "a $(b)");
        Ok(())
    }
}
