//! The identity of an agent, in its own words.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::files::FilesGrant;
use crate::process::Shell;

/// The version of the operations: of their names, fields and meanings. Client and agent must have the same.
pub const VERSION: u32 = 6;

/// An agent, as it introduces itself to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Identity {
    /// The version of its operations: see [`VERSION`].
    pub operations: u32,
    /// The version of the program.
    pub toolhost: String,
    /// A random id of this run of the agent. Another run knows none of the requests that this one has answered.
    pub instance: String,
    /// The directory of its workspace.
    pub root: PathBuf,
    /// The shell that runs its commands.
    #[serde(default)]
    pub shell: Shell,
    /// What it lets a host do with the files of the workspace.
    pub files: FilesGrant,
    /// Whether the keys of starts hold beyond this run, because the agent keeps its processes in a state directory.
    pub remembers_starts: bool,
    /// The time of its clock, in milliseconds since 1970.
    pub time_unix_ms: u64,
}
