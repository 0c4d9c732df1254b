//! A program of the operator, in a process group of its own: it reads a text, and its output is bounded.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// How long the output is read after the end of the program. A process that it started may hold it open for ever.
const LATE_OUTPUT: Duration = Duration::from_secs(1);

/// A running program and its process group. Dropping it kills the whole group, unless the program has ended.
#[derive(Debug)]
pub struct Group(Child);

impl Group {
    /// Starts a program in the root directory, with pipes as its standard input and output.
    ///
    /// # Errors
    ///
    /// If the program cannot be run.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let spawned = command
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        spawned.map(Self)
    }

    /// Takes the standard error, if it is a pipe.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.0.stderr.take()
    }

    /// Writes the input, reads the output, of which it keeps the first `most` bytes, and waits for the end of the program. Does something
    /// beside that, which may go on a moment longer than the program.
    ///
    /// # Errors
    ///
    /// If the system does not say how the program ended.
    pub async fn talk(
        &mut self,
        input: &[u8],
        (output, most): (&mut Vec<u8>, u64),
        beside: impl Future<Output = ()> + Send,
    ) -> io::Result<ExitStatus> {
        let (stdin, stdout) = (self.0.stdin.take(), self.0.stdout.take());
        // None of these is sure to end before the program does: it may read nothing, or leave its output open.
        let mut talk = Box::pin(async {
            tokio::join!(write(stdin, input), read(stdout, output, most), beside)
        });
        tokio::select! {
            status = self.0.wait() => {
                _ = tokio::time::timeout(LATE_OUTPUT, &mut talk).await;
                status
            }
            _ = &mut talk => self.0.wait().await,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Without an id, the program was already reaped, and another process may have its number by now.
        if let Some(id) = self.0.id()
            && let Ok(id) = i32::try_from(id)
        {
            _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

/// Writes the input. It is no error if the program does not read it, because the program may not need it.
async fn write(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        _ = stdin.write_all(input).await;
    }
}

/// Reads the output to its end, and keeps its first bytes.
async fn read(stdout: Option<ChildStdout>, output: &mut Vec<u8>, most: u64) {
    if let Some(stdout) = stdout {
        let mut start = stdout.take(most);
        _ = start.read_to_end(output).await;
        _ = tokio::io::copy(&mut start.into_inner(), &mut tokio::io::sink()).await;
    }
}
