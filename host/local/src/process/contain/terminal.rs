//! A command in the terminal of its caller, in the sandbox that commands of tools get.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use toolhost_sandbox::Recipe;

/// Runs a program to its end in the sandbox of a recipe, with these variables and no others.
///
/// The calling thread enters the sandbox for good, and its process is not confined. The limits of the recipe hold for the process.
///
/// # Errors
///
/// If the recipe cannot be applied, or the program cannot be started.
pub fn run_confined<'a>(
    recipe: &Recipe,
    program: &OsStr,
    arguments: &[OsString],
    directory: &Path,
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> io::Result<ExitStatus> {
    recipe.apply()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this directory is the one place that starts processes"
    )]
    let mut command = std::process::Command::new(program);
    command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .envs(variables)
        .status()
}
