//! Running a program of an engine: bounded in time and output, with its standard error in the log.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use toolhost_state::group::Group;

use crate::{EngineError, Log};

/// The most bytes of the standard output that are read.
const MOST: u64 = 1 << 20;

/// The variables that no program gets begin like this: they may hold the tokens of the host.
const OWN_VARIABLES: &str = "TOOLHOST_";

/// A program to run.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// The program and its arguments.
    pub(crate) line: Vec<String>,
    /// How messages name it.
    pub(crate) shown: String,
    /// Variables beside those of the host.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    /// The text for its standard input.
    pub(crate) input: Vec<u8>,
    /// The longest time until it ends. It is killed then, with its process group.
    pub(crate) time: Duration,
}

impl Program<'_> {
    /// Runs the program to its end, and returns its standard output.
    pub(crate) async fn run(self, log: &Log) -> Result<String, EngineError> {
        let time = self.time;
        let slow = EngineError::Slow {
            program: self.shown.clone(),
            time,
        };
        tokio::time::timeout(time, self.finish(log))
            .await
            .unwrap_or(Err(slow))
            .inspect_err(|error| log.push(&error.to_string()))
    }

    async fn finish(self, log: &Log) -> Result<String, EngineError> {
        let program = self.shown;
        let not_run = |reason: String| EngineError::NotRun {
            program: program.clone(),
            reason,
        };
        let Some((path, arguments)) = self.line.split_first() else {
            return Err(not_run("it is not named".to_owned()));
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the operator's engine is no command of a chat, and nothing of it belongs into a workspace"
        )]
        let mut command = tokio::process::Command::new(path);
        let own = std::env::vars_os().map(|(name, _)| name);
        for name in own.filter(|name| name.to_string_lossy().starts_with(OWN_VARIABLES)) {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .envs(self.variables.iter().copied())
            .stderr(Stdio::piped());
        let spawned = Group::spawn(&mut command);
        // A process that the program leaves running is the machine.
        let mut group = spawned.map_err(|error| not_run(error.to_string()))?;
        let (mut output, mut last) = (Vec::new(), String::new());
        let telling = tell(group.take_stderr(), log, &mut last);
        let talk = group.talk(&self.input, (&mut output, MOST), telling);
        let status = talk.await.map_err(|error| not_run(error.to_string()))?;
        match status.success() {
            true => Ok(String::from_utf8_lossy(&output).into_owned()),
            false => Err(EngineError::Failed {
                program,
                status: status.to_string(),
                last,
            }),
        }
    }
}

/// Writes each line of an output to the log.
async fn tell(output: Option<impl AsyncRead + Unpin>, log: &Log, last: &mut String) {
    let Some(output) = output else {
        return;
    };
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line without an end must not fill the memory.
        let mut bounded = (&mut output).take(64 << 10);
        match bounded.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        log.push(text);
        if !text.is_empty() {
            *last = text.chars().take(400).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(script: &str, time: Duration) -> (Result<String, EngineError>, String) {
        let log = Log::default();
        let program = Program {
            line: ["sh", "-c", script].map(str::to_owned).to_vec(),
            shown: "the program".to_owned(),
            variables: &[("GIVEN", "given")],
            input: b"input".to_vec(),
            time,
        };
        let ran = program.run(&log).await;
        (ran, log.text())
    }

    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn a_program_reads_its_input_and_its_output_is_returned() {
        let (ran, log) = run("echo \"$(cat) $GIVEN\"; echo told >&2", LONG).await;
        assert_eq!(
            (ran.unwrap().as_str(), log.as_str()),
            ("input given\n", "told\n")
        );
    }

    #[tokio::test]
    async fn a_failure_has_the_last_line() {
        let (ran, log) = run("echo one >&2; echo two >&2; exit 3", LONG).await;
        let error = "the program ended with exit status: 3: two";
        assert_eq!(ran.unwrap_err().to_string(), error);
        assert_eq!(log, format!("one\ntwo\n{error}\n"));
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed_with_its_group() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        // The reader sees the end of the pipe when the last process of the group is dead.
        let held = tokio::net::unix::pipe::OpenOptions::new();
        let mut reader = held.open_receiver(&fifo).unwrap();
        let script = format!("sleep 1000 > '{}' & wait", fifo.display());
        let (ran, _) = run(&script, Duration::from_millis(300)).await;
        let text = ran.unwrap_err().to_string();
        assert_eq!(text, "the program did not end within 0 s, and was killed");
        let mut rest = Vec::new();
        tokio::time::timeout(LONG, reader.read_to_end(&mut rest))
            .await
            .expect("the group is dead")
            .unwrap();
    }

    #[tokio::test]
    async fn what_a_program_leaves_running_does_not_hold_it_up() {
        let (ran, _) = run("sleep 20 & echo done", LONG).await;
        assert_eq!(ran.unwrap(), "done\n");
    }
}
