//! A command in the terminal of its caller, in the sandbox of a configuration.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use toolhost_sandbox::Mode;

use super::confinement::OwnDirectories;
use super::contain::{Spawner, run_in_terminal};
use super::registry::Config;

/// Runs a program to its end in the sandbox of a configuration, with the variables of commands and these. Its temporary files and its home
/// are in this directory.
///
/// Blocks until then. The caller is within a tokio runtime.
///
/// # Errors
///
/// If the sandbox cannot be applied, or the program cannot be started.
pub fn run_confined<'a>(
    config: &'a Config,
    directory: &Path,
    program: &OsStr,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> io::Result<ExitStatus> {
    config.spawner.iter().for_each(Spawner::lets_join);
    // The spawner of all chats is in namespaces of its own, too, which are no place for a command.
    let is_confined = config.sandbox.mode != Mode::Off;
    let own = match is_confined {
        true => OwnDirectories::below(directory)?,
        false => OwnDirectories::default(),
    };
    let confined = config
        .common()
        .confine(&config.workspace, &config.sandbox, own.clone(), None);
    let confined = confined.map_err(io::Error::other)?;
    let given = config.environment.variables().chain(variables);
    let mut all: BTreeMap<_, _> = given
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    all.extend(
        confined
            .own_variables()
            .map(|(name, value)| (name.into(), value)),
    );
    let ended = run_in_terminal(
        (program, arguments),
        &config.workspace,
        all,
        confined.sandbox.recipe()?,
        confined.spawner.as_ref().filter(|_| is_confined),
    );
    own.remove();
    ended
}
