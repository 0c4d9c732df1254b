//! Programs of toolchains, such as cargo and npm.
//!
//! They are the author's own, and run in the folder of the plugin with the author's rights. No command of a tool runs here.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tokio::process::Command;

/// A program to run.
#[derive(Debug)]
pub struct Program {
    command: Command,
    /// The command line, for errors.
    shown: String,
    name: String,
}

/// A reason why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It is not there.
    #[error("cannot find the program {0}")]
    Missing(String),
    /// It cannot be started.
    #[error("cannot start `{shown}`: {source}")]
    Start {
        /// The command line.
        shown: String,
        /// The reason.
        source: std::io::Error,
    },
    /// It failed by a mistake of the author, which this names with its place.
    #[error("{0}")]
    Mistake(String),
    /// It failed.
    #[error("`{shown}` failed: {status}")]
    Failed {
        /// The command line.
        shown: String,
        /// How it ended.
        status: ExitStatus,
    },
}

impl Program {
    /// Makes a program that runs in this folder. It is found by its path, or by its name in PATH.
    pub fn new(program: impl AsRef<OsStr>, folder: &Path) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that starts programs of toolchains"
        )]
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let name = program.as_ref().to_string_lossy().into_owned();
        Self {
            command,
            shown: name.clone(),
            name,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.shown.push(' ');
        self.shown.push_str(&argument.as_ref().to_string_lossy());
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end. All that it prints goes to standard error.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or fails.
    pub async fn run(mut self) -> Result<(), ProgramError> {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(|error| self.not_started(error))?;
        self.command.stdout(Stdio::from(stderr));
        let status = self.command.status().await;
        let status = status.map_err(|error| self.not_started(error))?;
        self.judge(status)
    }

    /// Runs it to its end. If it fails, `mistake` looks in what it printed for a mistake of the author, which then is the error. Without
    /// one, all that it printed goes to standard error.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or fails.
    pub async fn run_explained(
        mut self,
        mistake: impl Fn(&str) -> Option<String>,
    ) -> Result<(), ProgramError> {
        let output = self.command.output().await;
        let output = output.map_err(|error| self.not_started(error))?;
        let said = [output.stdout, output.stderr].concat();
        if !output.status.success()
            && let Some(text) = mistake(String::from_utf8_lossy(&said).trim_end())
        {
            return Err(ProgramError::Mistake(text));
        }
        // Nothing can be done if standard error is closed.
        _ = std::io::stderr().write_all(&said);
        self.judge(output.status)
    }

    /// Runs the program to its end, and returns its standard output.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or fails.
    pub async fn output(mut self) -> Result<String, ProgramError> {
        self.command.stderr(Stdio::inherit());
        let output = self.command.output().await;
        let output = output.map_err(|error| self.not_started(error))?;
        self.judge(output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn not_started(&self, source: std::io::Error) -> ProgramError {
        match source.kind() {
            std::io::ErrorKind::NotFound => ProgramError::Missing(self.name.clone()),
            _ => ProgramError::Start {
                shown: self.shown.clone(),
                source,
            },
        }
    }

    fn judge(self, status: ExitStatus) -> Result<(), ProgramError> {
        match status.success() {
            true => Ok(()),
            false => Err(ProgramError::Failed {
                shown: self.shown,
                status,
            }),
        }
    }
}

/// Returns the path of a program: in one of these folders, or else in one of PATH.
pub(crate) fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().cloned().chain(std::env::split_paths(&path));
    let found = all.map(|folder| folder.join(name));
    found.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn programs_are_run_in_their_folder_and_judged() {
        let folder = tempfile::tempdir().unwrap();
        let sh = |script: &str| Program::new("sh", folder.path()).args(["-c", script]);
        let printed = sh("pwd; echo $A").env("A", "b").output().await.unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(printed, format!("{}\nb\n", root.display()));
        let error = sh("exit 3").run().await.unwrap_err();
        assert_eq!(error.to_string(), "`sh -c exit 3` failed: exit status: 3");
        let explained = sh("echo out; echo err >&2; exit 3");
        let explained =
            explained.run_explained(|said| said.strip_prefix("out\n").map(str::to_owned));
        assert_eq!(explained.await.unwrap_err().to_string(), "err");
        let error = sh("exit 3").run_explained(|_| None).await.unwrap_err();
        assert!(matches!(error, ProgramError::Failed { .. }), "{error}");
        let missing = Program::new("no-such-program", folder.path());
        let error = missing.run().await.unwrap_err();
        assert!(matches!(error, ProgramError::Missing(_)), "{error}");
    }
}
