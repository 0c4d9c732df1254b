//! Shell commands of the workspace.
//!
//! Write the logic of a tool against `&dyn` [`Processes`]: give it [`Host`] when it runs, and a
//! [`FakeProcesses`](crate::testing::FakeProcesses) in tests. A plugin that never names [`Host`] does not import
//! `processes`, and needs no grant for it.
//!
//! A cursor is an absolute byte offset into the output of a process, which is its standard output and standard error
//! merged in the order in which they were written.

mod host;

use std::fmt;
use std::time::Duration;

pub use crate::bindings::processes::toolhost::plugin::processes::{
    Cause, Chunk, ExitStatus, ExpectedOutput, Info, ListeningPort, Saved, Screen, Shell, Signal,
    Snapshot, State, Stdin, Survivor, TerminalSize, Trigger, Waited, WaitedAny, Wake,
};
pub use host::Host;

/// The processes of the calling chat.
pub trait Processes: fmt::Debug {
    /// Returns the shell that runs the commands of the workspace.
    ///
    /// # Errors
    ///
    /// The plugin may not use processes, or there is no call.
    fn shell(&self) -> Result<Shell, Error>;

    /// Starts a command. The process runs whether or not anyone waits for it.
    ///
    /// # Errors
    ///
    /// The [`Error`] says why nothing was started, or for [`Error::UnknownOutcome`] that it may have been.
    fn start(&self, options: StartOptions) -> Result<Box<dyn Process>, Error>;

    /// Returns the process of this id.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat has none.
    fn open(&self, id: &str) -> Result<Box<dyn Process>, Error>;

    /// Returns at most `max` processes and how many there are in all: those that run first, then those that linger, then
    /// the ended ones, each newest first. `running_only` leaves the ended ones out, of both.
    ///
    /// # Errors
    ///
    /// The processes cannot be reached.
    fn list(&self, running_only: bool, max: u32) -> Result<(Vec<Info>, u32), Error>;

    /// Waits until one of these processes, of which there are at most 64, has ended, and its output was drained.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat lacks one, or the processes cannot be reached.
    fn wait_any(&self, ids: &[&str], timeout: Duration) -> Result<WaitedAny, Error>;
}

/// One process. Dropping it ends nothing.
pub trait Process: fmt::Debug {
    /// Returns the id, by which a later call can open the process.
    fn id(&self) -> String;

    /// Waits until the shell has exited and its output was drained, or until something else that the options name.
    ///
    /// # Errors
    ///
    /// The process cannot be reached, or [`WaitOptions::until`] is no regular expression.
    fn wait(&self, options: &WaitOptions) -> Result<Waited, Error>;

    /// Returns the facts about the process that a list has.
    ///
    /// # Errors
    ///
    /// The process cannot be reached.
    fn info(&self) -> Result<Info, Error>;

    /// Returns state and bounded output of this moment.
    ///
    /// # Errors
    ///
    /// The process cannot be reached.
    fn snapshot(&self) -> Result<Snapshot, Error>;

    /// Returns at most `max` bytes from the cursor `since` on. Reading changes nothing.
    ///
    /// # Errors
    ///
    /// The process cannot be reached.
    fn read(&self, since: u64, max: u32) -> Result<Chunk, Error>;

    /// Sends a signal to everything that the command started, and returns the state after that without waiting for an
    /// effect. [`Signal::Terminate`] becomes [`Signal::Kill`] for whatever is left after `grace`; `None`: the host's
    /// default.
    ///
    /// # Errors
    ///
    /// The process cannot be reached. One that has ended is no error: its state says so.
    fn signal(&self, signal: Signal, grace: Option<Duration>) -> Result<State, Error>;

    /// Writes at most 1 MiB to the standard input, and returns the state after that. The process was started with [`Stdin::Pipe`] or
    /// [`Stdin::Terminal`]. In a terminal this types: a line ends with `\r`, and control characters act, such as `\x03` for Ctrl-C.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there is no open input. [`Error::Failed`] if the program reads nothing for 10 s, or has closed its input: the
    /// text says how many bytes were written.
    fn write(&self, data: &[u8]) -> Result<State, Error>;

    /// Ends the standard input, and returns the state after that. In a terminal this types Ctrl-D.
    ///
    /// # Errors
    ///
    /// As for [`Process::write`].
    fn close_input(&self) -> Result<State, Error>;

    /// Gives the terminal another size, and returns the state after that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there is no terminal, or none of this size.
    fn resize(&self, size: TerminalSize) -> Result<State, Error>;

    /// Asks for a notice: the chat is told once when the event happens, after the call as well. Returns the id of the notice. An event that
    /// has happened already is told at once.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the pattern is no regular expression, [`Error::Limit`] if the chat waits for 64 notices, or the process cannot be
    /// reached.
    fn notify(&self, on: &Trigger) -> Result<String, Error>;

    /// Returns the TCP ports on which the processes of the command listen, ascending. Waits for the first one for this time, but no longer
    /// than the command runs, and than the host lets a call wait.
    ///
    /// # Errors
    ///
    /// The process cannot be reached.
    fn listening(&self, timeout: Duration) -> Result<Vec<ListeningPort>, Error>;
}

#[expect(
    clippy::derivable_impls,
    reason = "the type is in the bindings, which are generated"
)]
impl Default for Stdin {
    fn default() -> Self {
        Self::None
    }
}

impl Default for TerminalSize {
    /// 24 rows of 80 columns, for which all programs are made.
    fn default() -> Self {
        Self {
            rows: 24,
            columns: 80,
        }
    }
}

/// A command to run, and its surroundings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StartOptions {
    /// The command, run as `bash -c command` or `sh -c command`: see [`Processes::shell`]. It must not be empty nor contain NUL.
    pub command: String,
    /// The directory to run in: absolute, or relative to the workspace directory; `None`: the workspace directory.
    pub workdir: Option<String>,
    /// Variables that are set last, over the environment that the host builds.
    pub env: Vec<(String, String)>,
    /// Whether the caller means to leave the process running. It decides whether a cancelled or failed call takes the
    /// process with it: the host ends those of the foreground, and the call is not over before they are.
    pub background: bool,
    /// The standard input of the command. Default: none.
    pub stdin: Stdin,
    /// Rights that the command gives up, of those that the operator allows it.
    pub without: Restrictions,
}

/// Rights that a command gives up. A part that the machine cannot enforce is left out, unless the operator requires it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Restrictions {
    /// Writing anywhere but into the temporary directories of the chat.
    pub write: bool,
    /// The network.
    pub network: bool,
}

/// The events that end a wait, besides the end of the process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitOptions {
    /// The longest wait. Zero looks and returns at once.
    pub timeout: Duration,
    /// The cursor from which `until` searches, and with which `output` compares.
    pub since: u64,
    /// A regular expression that ends the wait when it matches the output from `since` on; `None`: no search.
    pub until: Option<String>,
    /// Whether any byte past `since` ends the wait.
    pub output: bool,
}

impl WaitOptions {
    /// Waits for the end alone.
    #[must_use]
    pub fn at_most(timeout: Duration) -> Self {
        Self {
            timeout,
            ..Self::default()
        }
    }
}

/// Why an operation failed. The texts are for the model to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The plugin was not granted this.
    Denied(String),
    /// The chat has no process of this id.
    NotFound,
    /// An argument is not valid.
    Invalid(String),
    /// The working directory does not exist, is not a directory, or cannot be entered.
    Workdir(String),
    /// A limit of the chat is reached; the text names the limit and its users.
    Limit(String),
    /// The workspace cannot be reached. Nothing was done.
    Unavailable(String),
    /// The workspace stopped answering. It may have been done.
    UnknownOutcome(String),
    /// It failed in another way.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("process not found"),
            Self::Denied(text)
            | Self::Invalid(text)
            | Self::Workdir(text)
            | Self::Limit(text)
            | Self::Unavailable(text)
            | Self::UnknownOutcome(text)
            | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
