//! A program in the terminal of its caller, in the sandbox that commands of tools get.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

use toolhost_sandbox::Recipe;

use super::{Spawner, sys};

/// Runs a program to its end, with these variables and no others. With the spawner of a chat, it is in the namespaces of that, which
/// [`Spawner::lets_join`] must have allowed.
pub(in crate::process) fn run_in_terminal(
    (program, arguments): (&OsStr, &[OsString]),
    directory: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    recipe: Recipe,
    spawner: Option<&Spawner>,
) -> io::Result<ExitStatus> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the program of a terminal is started here"
    )]
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .envs(variables);
    let namespaces = spawner.map(Spawner::namespaces).transpose()?;
    let directory = directory.to_path_buf();
    sys::before_exec(&mut command, move || {
        if let Some(namespaces) = &namespaces {
            sys::join(namespaces)?;
            // The directory was that of the other namespace.
            std::env::set_current_dir(&directory)?;
        }
        Ok(recipe.apply()?)
    });
    command.status()
}
