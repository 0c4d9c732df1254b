//! Copies of this program that do one thing and end, such as compiling a component.
//!
//! They are not commands: only the host decides what they run, so they need no supervisor. Each copy gets an empty environment,
//! and ends with the process that started it.

use std::ffi::OsStr;
use std::path::Path;

/// Makes the command of a copy of the Toolhost program. `program` is that program: within it, `/proc/self/exe`. The copy has an
/// empty environment and is killed when the handle of its process is dropped.
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
