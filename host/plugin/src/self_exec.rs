//! Copies of this program that do one thing and end, such as compiling a component.
//!
//! A copy is not a command: the host alone decides what it runs, so it needs no supervisor. Each copy gets an empty
//! environment, and ends with the process that started it.

use std::ffi::OsStr;
use std::path::Path;

/// Returns a command that starts a copy of the Toolhost program, whose path is `program`; the program itself passes
/// `/proc/self/exe`. The copy has an empty environment and is killed when the handle of its process is dropped.
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
