//! Copies of this program that do one thing and end, such as compiling a component.
//!
//! They are no commands: nobody else says what they run, so they need no supervisor. Each gets an empty environment, and ends
//! with whoever started it.

use std::ffi::OsStr;
use std::path::Path;

/// Begins a copy of the Toolhost program, for which this is `program`: within it, `/proc/self/exe`. It has an empty
/// environment and is killed when what was started of it is dropped.
pub fn command<S: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = S>,
) -> tokio::process::Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts copies of this program"
    )]
    let mut command = tokio::process::Command::new(program);
    command
        .arg0("toolhost")
        .args(arguments)
        .env_clear()
        .kill_on_drop(true);
    command
}
