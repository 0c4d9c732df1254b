//! A command that is asked. It is the operator's own program, not a command of a chat: it is in no workspace and no registry.

use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::{Answer, ApprovalError, MAX_REASON};

/// The environment of the command, all of it.
const ENVIRONMENT: [(&str, &str); 2] = [
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("LANG", "C.UTF-8"),
];

/// How long the output of a command that has exited is waited for: something that it left running may hold it open.
const LATE_OUTPUT: Duration = Duration::from_secs(1);

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
        Ok(Self {
            path: program,
            arguments,
        })
    }

    /// Runs the command with this on its standard input, and returns its answer, or why there is none.
    pub(super) async fn ask(&self, input: Vec<u8>) -> Result<Answer, String> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the operator's hook is no command of a chat, and nothing of it belongs into a workspace"
        )]
        let mut command = tokio::process::Command::new(&self.path);
        let spawned = command
            .args(&self.arguments)
            .env_clear()
            .envs(ENVIRONMENT)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let child = spawned.map_err(|error| format!("{} cannot be run: {error}", self.path))?;
        let mut group = Group(child);
        let (stdin, stdout) = (group.0.stdin.take(), group.0.stdout.take());
        let output = Mutex::new(Vec::new());
        // Neither ends before the command does, for sure: it may read nothing, and never close its output.
        let mut talk =
            Box::pin(async { tokio::join!(write(stdin, &input), read(stdout, &output)) });
        let status = tokio::select! {
            status = group.0.wait() => {
                _ = tokio::time::timeout(LATE_OUTPUT, &mut talk).await;
                status
            }
            _ = &mut talk => group.0.wait().await,
        };
        drop(talk);
        let status = status.map_err(|error| format!("its end is not known: {error}"))?;
        match status.code() {
            Some(0) => Ok(Answer::Granted),
            Some(1) => {
                let reason = output.into_inner().unwrap_or_else(PoisonError::into_inner);
                Ok(Answer::refused(&reason))
            }
            _ => Err(format!("it ended with {status}")),
        }
    }
}

/// A command that runs, and what is in its process group. Dropping it kills all of it.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // Without an id it was waited for, and its number may be somebody else's by now.
        if let Some(id) = self.0.id()
            && let Ok(id) = i32::try_from(id)
        {
            _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

/// Writes the question. That the command does not read it is no error: it may know its answer.
async fn write(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        _ = stdin.write_all(input).await;
    }
}

/// Reads all of the output, and keeps its start.
async fn read(stdout: Option<ChildStdout>, output: &Mutex<Vec<u8>>) {
    let Some(mut stdout) = stdout else {
        return;
    };
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        let room = (MAX_REASON + 4).saturating_sub(output.len());
        output.extend(buffer.iter().take(count.min(room)));
    }
}
