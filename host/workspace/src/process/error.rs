//! Errors of operations on processes.

use std::path::PathBuf;

/// An error of an operation on processes. The texts are for the caller, often a model.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    thiserror::Error,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub enum Error {
    /// The chat has no process of this id.
    #[error("process {0:?} not found")]
    NotFound(String),
    /// The command, a variable, or an expression is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The working directory cannot be used.
    #[error("workdir {problem}: {path}{hint}", path = path.display())]
    Workdir {
        /// The directory that was asked for, absolute.
        path: PathBuf,
        /// The problem with the directory, such as `does not exist`.
        problem: String,
        /// A directory to use instead, with a leading separator; empty if there is none.
        hint: String,
    },
    /// The chat has as many live processes as it may have.
    #[error("{0}")]
    Limit(String),
    /// This machine has no room for the process now: descriptors, processes or memory are short. Nothing was done.
    #[error("{0}")]
    Busy(String),
    /// No command of the chat listens on the port, or another program listens on it as well. Nothing was done.
    #[error(
        "no command of this chat listens on port {0}: start a server that listens on this TCP port, and that shares it with no other program"
    )]
    NotListening(u16),
    /// The key names another command, which was started before.
    #[error("the key {0:?} was used for another command")]
    KeyReused(String),
    /// The registry is shutting down, or the chat has ended. Nothing was done.
    #[error("the host is shutting down, or the chat has ended")]
    Closed,
    /// The registry began to shut down, or the chat ended, while a command was being started. It was ended at once.
    #[error(
        "the host began to shut down, or the chat ended, while the command started: it may have run for a moment"
    )]
    Interrupted,
    /// The workspace cannot be reached. Nothing was done. The local workspace never answers this.
    #[error("the workspace cannot be reached: {0}")]
    Unavailable(String),
    /// The workspace stopped answering. The operation may have been done. The local workspace never answers this.
    #[error("the workspace stopped answering, and it is not known whether this was done: {0}")]
    UnknownOutcome(String),
    /// The operating system refused.
    #[error("{0}")]
    Failed(String),
}
