//! The approval hook as a command. It is the operator's own program, not a command of a chat, so it is in no workspace and no
//! registry.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::unistd::{AccessFlags, access};

use super::{Answer, ApprovalError, MAX_REASON};
use toolhost_state::group::Group;
use toolhost_state::trusted::{UntrustedError, check_program};

/// The search path for programs.
const SEARCHED: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The whole environment of the command.
const ENVIRONMENT: [(&str, &str); 2] = [("PATH", SEARCHED), ("LANG", "C.UTF-8")];

/// The reason why a program is not run.
#[derive(Debug, thiserror::Error)]
enum FindError {
    #[error("there is no such program")]
    Missing,
    #[error(transparent)]
    Untrusted(#[from] UntrustedError),
}

/// A command that is asked.
#[derive(Debug)]
pub(super) struct Program {
    path: String,
    arguments: Vec<String>,
}

impl Program {
    pub(super) fn new(program: String, arguments: Vec<String>) -> Result<Self, ApprovalError> {
        if program.is_empty() || (program.contains('/') && !program.starts_with('/')) {
            return Err(ApprovalError::Program(program));
        }
        let program = Self {
            path: program,
            arguments,
        };
        match program.find() {
            // The program may be installed later. Until then, every call that needs approval is refused.
            Ok(_) | Err(FindError::Missing) => Ok(program),
            Err(FindError::Untrusted(error)) => Err(error.into()),
        }
    }

    /// Returns whether the program does not exist.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self.find(), Err(FindError::Missing))
    }

    /// Returns the path of the program. Checks that only the operator can change the program, and the arguments that are files,
    /// such as the script of an interpreter.
    fn find(&self) -> Result<PathBuf, FindError> {
        let path = match self.path.starts_with('/') {
            true => PathBuf::from(&self.path),
            false => SEARCHED
                .split(':')
                .map(|directory| Path::new(directory).join(&self.path))
                .find(|path| access(path, AccessFlags::X_OK).is_ok() && path.is_file())
                .ok_or(FindError::Missing)?,
        };
        if !path.exists() {
            return Err(FindError::Missing);
        }
        check_program(&path)?;
        let arguments = self.arguments.iter().map(Path::new);
        for argument in arguments.filter(|path| path.is_absolute() && path.is_file()) {
            check_program(argument)?;
        }
        Ok(path)
    }

    /// Returns whether a command of this user could trace the program and change its answer. It cannot if the program is setuid
    /// of another user, or is not readable.
    pub(super) fn can_be_traced(&self) -> bool {
        let Ok(path) = self.find() else {
            return true;
        };
        let user = nix::unistd::geteuid().as_raw();
        let takes_rights = std::fs::metadata(&path)
            .is_ok_and(|found| found.mode() & 0o4000 != 0 && found.uid() != user);
        user == 0 || !takes_rights && access(&path, AccessFlags::R_OK).is_ok()
    }

    /// Runs the command with the question on its standard input. Returns the answer, or the reason why there is none.
    pub(super) async fn ask(&self, input: Vec<u8>) -> Result<Answer, String> {
        let path = self.find().map_err(|error| match error {
            FindError::Missing => format!("{} cannot be run: there is no such program", self.path),
            FindError::Untrusted(error) => error.to_string(),
        })?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the operator's hook is no command of a chat, and nothing of it belongs into a workspace"
        )]
        let mut command = tokio::process::Command::new(&path);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(ENVIRONMENT)
            .stderr(Stdio::null());
        let spawned = Group::spawn(&mut command);
        let mut group = spawned.map_err(|error| format!("{} cannot be run: {error}", self.path))?;
        let mut output = Vec::new();
        let kept = (&mut output, MAX_REASON as u64 + 4);
        let status = group.talk(&input, kept, std::future::ready(())).await;
        let status = status.map_err(|error| format!("its end is not known: {error}"))?;
        match status.code() {
            Some(0) => Ok(Answer::Granted),
            Some(1) => Ok(Answer::refused(&output)),
            _ => Err(format!("it ended with {status}")),
        }
    }
}
