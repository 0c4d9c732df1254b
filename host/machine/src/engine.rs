//! Engines: the trait, and what they answer.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::{Log, Machine};

/// The work of an engine on one machine.
pub type Working<'a, T = ()> = BoxFuture<'a, Result<T, EngineError>>;

/// Returns whether the machine with an id is kept.
pub type IsKept<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// Makes and removes machines. Each operation has a deadline, can be repeated, and writes the output of its programs to a log.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Returns whether the machine is there, and whether it runs.
    fn status<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a, Standing>;

    /// Makes the machine. It does not run yet. A machine that is there already is no error.
    fn create<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a>;

    /// Starts the machine, with the agent in it. A machine that runs already is no error.
    fn start<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a>;

    /// Stops the machine, and keeps its files. A machine that does not run is no error.
    fn stop<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a>;

    /// Removes the machine and its files. A machine that is not there is no error.
    fn remove<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a>;

    /// Writes the output of the machine to the log, if the engine keeps any.
    fn tell<'a>(&'a self, machine: &'a Machine, log: &'a Log) -> Working<'a> {
        _ = (machine, log);
        Box::pin(async { Ok(()) })
    }

    /// Removes the machines that this host made, but for those with ids that are kept, and returns the ids of the removed ones. Asks for
    /// each id after it has listed the machines. An engine that cannot list its machines removes none.
    fn sweep<'a>(&'a self, is_kept: IsKept<'a>, log: &'a Log) -> Working<'a, Vec<String>> {
        _ = (is_kept, log);
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// The state of a machine at its engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no such machine.
    Missing,
    /// The machine is there, and does not run.
    Stopped,
    /// The machine runs.
    Running {
        /// Differs for each start of the machine.
        since: String,
    },
}

/// A reason why an engine did not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The program cannot be run.
    #[error("{program} cannot be run: {reason}")]
    NotRun {
        /// The program, as messages show it.
        program: String,
        /// The reason of the system.
        reason: String,
    },
    /// The program failed.
    #[error("{program} ended with {status}{}", if .last.is_empty() { String::new() } else { format!(": {last}") })]
    Failed {
        /// The program, as messages show it.
        program: String,
        /// How it ended.
        status: String,
        /// The last line that it wrote to its standard error.
        last: String,
    },
    /// The program did not end in time, and was killed.
    #[error("{program} did not end within {} s, and was killed", .time.as_secs())]
    Slow {
        /// The program, as messages show it.
        program: String,
        /// The deadline.
        time: Duration,
    },
    /// The program wrote something else to its standard output than it should.
    #[error("{program} answered with no valid status: {reason}")]
    Answer {
        /// The program, as messages show it.
        program: String,
        /// The fault of the answer.
        reason: String,
    },
}
