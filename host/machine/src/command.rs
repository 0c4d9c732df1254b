//! The engine that runs the programs of the operator, which make machines of any kind.
//!
//! Each program gets the machine as JSON on its standard input. `status` answers in JSON on its standard output. The standard error of all
//! programs is the log.

use std::time::Duration;

use serde::Deserialize;

use crate::program::Program;
use crate::{Engine, EngineError, Log, Machine, Standing, Working};

/// The programs of the operator, each with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Makes a machine, or does nothing if it is there.
    pub create: Vec<String>,
    /// Starts a machine, or does nothing if it runs.
    pub start: Vec<String>,
    /// Stops a machine, or does nothing if it does not run.
    pub stop: Vec<String>,
    /// Removes a machine, or does nothing if it is not there.
    pub remove: Vec<String>,
    /// Writes `{"state": "missing"}`, `{"state": "stopped"}`, or `{"state": "running", "since": TEXT}` with another text for each start.
    pub status: Vec<String>,
    /// How long each program may run.
    #[serde(default = "Programs::usual_seconds")]
    pub program_seconds: u64,
}

impl Programs {
    fn usual_seconds() -> u64 {
        600
    }

    /// Returns the programs.
    pub fn all_mut(&mut self) -> [&mut Vec<String>; 5] {
        [
            &mut self.create,
            &mut self.start,
            &mut self.stop,
            &mut self.remove,
            &mut self.status,
        ]
    }
}

/// Runs the programs of the operator.
#[derive(Clone, Debug)]
pub struct Commands(Programs);

/// The answer of `status`.
#[derive(Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum Answer {
    Missing,
    Stopped,
    Running { since: String },
}

impl Commands {
    /// Makes the engine.
    pub fn new(programs: Programs) -> Self {
        Self(programs)
    }

    async fn run(
        &self,
        program: &[String],
        machine: &Machine,
        log: &Log,
    ) -> Result<String, EngineError> {
        let program = Program {
            line: program.to_vec(),
            shown: program.first().cloned().unwrap_or_default(),
            variables: &[],
            input: machine.document(),
            time: Duration::from_secs(self.0.program_seconds),
        };
        program.run(log).await
    }

    /// Runs a program whose output is part of the log.
    async fn told(
        &self,
        program: &[String],
        machine: &Machine,
        log: &Log,
    ) -> Result<(), EngineError> {
        let output = self.run(program, machine, log).await?;
        log.push(&output);
        Ok(())
    }
}

impl Engine for Commands {
    fn status<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a, Standing> {
        Box::pin(async {
            let output = self.run(&self.0.status, machine, log).await?;
            let answer = serde_json::from_str(&output);
            let answer = answer.map_err(|error| EngineError::Answer {
                program: self.0.status.first().cloned().unwrap_or_default(),
                reason: error.to_string(),
            });
            Ok(
                match answer.inspect_err(|error| log.push(&error.to_string()))? {
                    Answer::Missing => Standing::Missing,
                    Answer::Stopped => Standing::Stopped,
                    Answer::Running { since } => Standing::Running { since },
                },
            )
        })
    }

    fn create<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(self.told(&self.0.create, machine, log))
    }

    fn start<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(self.told(&self.0.start, machine, log))
    }

    fn stop<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(self.told(&self.0.stop, machine, log))
    }

    fn remove<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        Box::pin(self.told(&self.0.remove, machine, log))
    }
}

#[cfg(test)]
mod tests;
