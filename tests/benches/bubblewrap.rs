//! Bubblewrap, whose namespaces are those of other agents, and the time of a command line.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Returns the arguments of bubblewrap for `sh -c true` in namespaces of its own, as other agents use it.
pub(crate) fn bubblewrap(workspace: &Path) -> Vec<String> {
    let workspace = workspace.to_str().expect("it is text");
    let arguments = format!(
        "bwrap --ro-bind / / --bind {workspace} {workspace} --dev /dev --proc /proc --tmpfs /tmp --unshare-pid --unshare-ipc sh -c true"
    );
    arguments.split(' ').map(str::to_owned).collect()
}

/// Runs a command line, and returns how long that takes.
pub(crate) fn run(arguments: &[String]) -> Duration {
    let [program, arguments @ ..] = arguments else {
        panic!("there is no program");
    };
    let mut command = Command::new(program);
    let begun = Instant::now();
    let ended = command.args(arguments).stdin(Stdio::null()).status();
    assert!(
        ended.is_ok_and(|status| status.success()),
        "{program} fails: is it installed?"
    );
    begun.elapsed()
}
